"""The measurement on a GPU: which parts it has, and how they end."""

import shlex
import sys
from pathlib import Path

import first_updates
import measure
import pytest
from parts import Part, planned


def rows(out: Path) -> list[list[str]]:
    return [line.split("\t") for line in (out / "parts.tsv").read_text("utf-8").splitlines()]


def test_outcomes_of_parts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parts = [
        Part("well", 60, ["echo", "a b"]),
        Part("badly", 60, ["sh", "-c", "echo why >&2; exit 3"]),
        Part("long", 0.2, ["sleep", "100"]),
    ]
    measure.measure(parts, tmp_path, 60)
    outcomes = ["done", "failed", "cut off"]
    assert [row[:2] for row in rows(tmp_path)] == [
        [part.name, outcome] for part, outcome in zip(parts, outcomes, strict=True)
    ]
    assert rows(tmp_path)[0][2:] == ["0", "60", "echo 'a b'"]
    logs = [(tmp_path / f"{part.name}.log").read_text() for part in parts]
    assert logs == ["a b\n", "why\n", ""]
    said = capfd.readouterr().out.splitlines()
    assert said[:2] == ["+ echo 'a b'", "well: done after 0 s"]


def test_no_part_outlives_the_limit_of_all(tmp_path: Path) -> None:
    late = Part("late", 60, ["touch", str(tmp_path / "made")])
    measure.measure([Part("long", 60, ["sleep", "100"]), late], tmp_path, 0.5)
    assert [row[:2] for row in rows(tmp_path)] == [["long", "cut off"], ["late", "skipped"]]
    assert rows(tmp_path)[1][2:4] == ["0", "0"] and not (tmp_path / "made").exists()


def test_the_direction_is_read_when_the_data_are_made(tmp_path: Path) -> None:
    args = measure.options(["--out", str(tmp_path / "my out"), "--parts", "serve", "--minutes=7"])
    parts = planned(args)
    assert [next(parts).name for _ in range(2)] == ["text", "data"]
    data = tmp_path / "my out" / "data"
    data.mkdir(parents=True)
    (data / "test-pairs.txt").write_text("fr-cs\nde-en\n")
    ((name, limit, command),) = parts
    assert (name, limit) == ("serve", 25 * 7 // 10)
    assert f"{data.parent}/translated-fp32/fr-cs.src --source fr" in " ".join(command)


@pytest.mark.parametrize(
    ("device", "precisions", "machine"),
    [("cuda", ["fp32", "fp16", "bf16"], "--gpus 1"), ("cpu", ["fp32", "bf16"], "--cpu")],
)
def test_a_system_is_translated_in_the_precisions_of_the_device(
    device: str, precisions: list[str], machine: str
) -> None:
    args = measure.options(["--device", device, "--out", "none"])
    parts = {part.name: shlex.join(part.command) for part in planned(args)}
    assert [name for name in parts if name.startswith("translate-")] == [
        f"translate-{precision}" for precision in precisions
    ]
    for precision in precisions:
        assert f"--precision {precision} {machine}" in parts[f"translate-{precision}"]
        assert f" {precision}=none/translated-{precision} " in parts["score"]
    assert "{" not in "".join(parts.values())


def test_first_updates_compare_each_precision_with_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = "DATA OUT --precisions fp32 bf16 --systems tpdm/multiun/small+tpdm+gate"
    monkeypatch.setattr(sys, "argv", ["first_updates.py", *words.split()])
    commands = dict(reversed(pair) for pair in first_updates.trainings(first_updates.arguments()))
    place = Path("OUT", "tpdm-multiun-small+tpdm+gate")
    runs = {"cpu": ("--cpu", "fp32"), "fp32": ("--gpus 1", "fp32"), "bf16": ("--gpus 1", "bf16")}
    assert [*commands] == [place / f"{run}.txt" for run in runs]
    for run, (machine, precision) in runs.items():
        files = f"--save-dir {place}/{run} --log-file {place}/{run}.log"
        command = " ".join(commands[place / f"{run}.txt"])
        assert f" DATA {files} --precision {precision} " in command and f" {machine} " in command


def test_a_training_that_fails_does_not_end_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "a" / "bad.txt", tmp_path / "b" / "good.txt"
    commands = [(["sh", "-c", "echo why; exit 3"], bad), (["echo", "well"], good)]
    monkeypatch.setattr(first_updates, "trainings", lambda args: commands)
    monkeypatch.setattr(sys, "argv", ["first_updates.py", "DATA", "OUT"])
    assert first_updates.main() == 1
    assert good.read_text() == "well\n"
    assert capsys.readouterr().out == f"{bad}: ended with 3: why\n"
