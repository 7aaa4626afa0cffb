"""Steps that are done are not done again, and what they make appears whole or not at all."""

import json
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.runtime.steps import Facts, Step, Steps, described


def write(text: str, folder: Path) -> Facts:
    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_text(text)
    return {"letters": len(text)}


def step(text: str = "abc", **depends: object) -> Step:
    return Step("one", {"text": text, **depends}, partial(write, text))


@dataclass(frozen=True)
class Old:
    one: int
    more: tuple[object, ...] = ()


@dataclass(frozen=True)
class New(Old):
    later: bool = True


New.__name__ = "Old"


def test_a_field_that_comes_later_makes_nothing_another_thing():
    assert described(Old(1, ({"a": New(2)},))) == described(New(1, ({"a": Old(2)},)))
    changed = [New(2), New(1, later=False), New(1, ("b",)), New(1, ({"a": 1},)), New(1, ("a", 1))]
    assert len({described(value) for value in [New(1), *changed]}) == 6


def test_a_step_s_digest_stays_what_it_was_in_folders_made_before():
    digest = "d87f94b87373f26842419a37dffce465000bd6f1429503ea4c3aabafe68f7fcb"
    assert step("Größe", n=1).digest() == digest


def run(root: Path, *steps: Step) -> tuple[dict[str, Facts], list[str]]:
    begun: list[str] = []
    with Steps(root, 1) as all_steps:
        return all_steps.run(steps, lambda started: begun.append(started.name)), begun


def test_a_step_leaves_its_files_and_a_record(tmp_path):
    assert run(tmp_path, step()) == ({"one": {"letters": 3}}, ["one"])
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert (tmp_path / "sub" / "file").read_text() == "abc"
    assert files == {"work/steps/one.json"}
    record = json.loads((tmp_path / "work" / "steps" / "one.json").read_text())
    assert record["files"] == {"sub/file": 3}
    assert run(tmp_path, step()) == ({"one": {"letters": 3}}, [])


@pytest.mark.parametrize("change", ["depends", "cut", "gone", "record", "not JSON"])
def test_a_step_is_done_again(tmp_path, change):
    run(tmp_path, step())
    left = tmp_path / "work" / "steps-scratch-abc"  # by a run that was killed
    left.mkdir()
    file, record = tmp_path / "sub" / "file", tmp_path / "work" / "steps" / "one.json"
    if change == "cut":
        file.write_text("ab")
    elif change == "gone":
        file.unlink()
    elif change == "record":
        record.unlink()
    elif change == "not JSON":
        record.write_text("{")
    text = "abcd" if change == "depends" else "abc"
    assert run(tmp_path, step(text)) == ({"one": {"letters": len(text)}}, ["one"])
    assert file.read_text() == text and not left.exists()


def test_a_step_that_fails_leaves_nothing_and_the_others_stay(tmp_path):
    def fail(folder: Path) -> Facts:
        (folder / "half").write_text("half")
        raise UserError("`DATA` must have room; it has none")

    bad = Step("bad", {}, fail)
    with pytest.raises(UserError, match="must have room"):
        run(tmp_path, step(), bad)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"sub", "sub/file", "work", "work/steps", "work/steps/one.json"}
    assert run(tmp_path, step(), Step("bad", {}, partial(write, "x")))[1] == ["bad"]


def test_a_stop_between_two_files_leaves_no_mixture(tmp_path, monkeypatch):
    def both(text: str) -> Step:
        def make(folder: Path) -> Facts:
            for name in ("a", "b"):
                (folder / name).write_text(text)
            return {}

        return Step("one", {"text": text}, make)

    run(tmp_path, both("old"))
    replace = os.replace

    def stopped(source: Path, target: Path) -> None:
        if target.name == "b":
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as stopping, pytest.raises(KeyboardInterrupt):
        stopping.setattr("os.replace", stopped)
        run(tmp_path, both("new"))
    assert (tmp_path / "a").read_text() == "new"  # of the same size
    assert run(tmp_path, both("old"))[1] == ["one"]
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["old", "old"]


def test_forgotten_steps_are_done_again(tmp_path):
    second = Step("two.b", {}, lambda folder: {})
    run(tmp_path, step(), second)
    with Steps(tmp_path, 1) as steps:
        steps.forget("one")
        assert steps.facts(step()) and steps.facts(second) is None
        assert steps.files() == {"sub/file"}
