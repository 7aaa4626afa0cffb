"""`tdo resume` goes on with what `tdo train` began."""

import json
import os
from pathlib import Path

import pytest
from support.commands import told
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN
from support.prepared import prepared, trained

from tdo_plugin.checkpoints import describe, read
from tdo_plugin.launch.training_record import RECORD

FLAGS = (*TDO, *TAG, *(word for word in TRAIN if word != "--cpu"), *CROSS_ENTROPY)
FLAGS += ("--update-freq", "1")


@pytest.fixture
def became(monkeypatch) -> list[list[str]]:
    """The commands that `tdo` became, which it does not."""
    commands: list[list[str]] = []

    def become(file: str, words: list[str], environment: dict[str, str]) -> None:
        commands.append(words)
        raise OSError(2, "so that the test goes on")

    monkeypatch.setattr(os, "execvpe", become)
    return commands


def train(config: Path, out: Path, *flags: str) -> list[str]:
    words = ["train", str(config), str(prepared().root), "--save-dir", str(out), "--cpu"]
    return [*words, *FLAGS, *flags]


def test_the_same_command(config, became, tmp_path, capsys):
    out = tmp_path / "out"
    two = ("--workers", "2", "--max-update", "4")
    told(capsys, *train(config, out, *two, "--dry-run"))
    assert not out.exists()
    told(capsys, *train(config, out, *two), code=2)
    config.unlink()
    out = out.rename(tmp_path / "moved")
    printed, _ = told(capsys, "resume", out, code=2)
    first, again = became
    assert "torchrun" in first[0] and again == [
        word.replace(str(tmp_path / "out"), str(out)) for word in first
    ]
    assert told(capsys, "resume", out, "--dry-run")[0] == printed


@pytest.mark.long
def test_an_interrupted_training_goes_on_until_it_is_finished(config, run, tmp_path, capsys):
    out = tmp_path / "out"
    short = ("--no-epoch-checkpoints", "--disable-validation")
    done = run("tdo", *train(config, out, *short, "--max-update", "3"))
    assert done.returncode == 0, done.stderr
    _, errors = told(capsys, "resume", out)
    assert errors == "training is finished: 3 of --max-update 3\n"

    path = out / RECORD  # as if it had been interrupted
    record = json.loads(path.read_text(encoding="utf-8"))
    record["extra"][-2:] = ["--max-epoch", "1"]
    path.write_text(json.dumps(record), encoding="utf-8")
    done = run("tdo", "resume", str(out))
    assert done.returncode == 0, done.stderr
    last = out / "checkpoint_last.pt"
    assert "loaded checkpoint" in done.stdout.lower() + done.stderr.lower()
    assert describe(last, read(last)).updates > 3
    _, errors = told(capsys, "resume", out)
    assert errors == "training is finished: 1 of --max-epoch 1\n"


def test_a_training_with_wrong_options_is_not_begun(config, became, tmp_path, refused):
    words = train(config, tmp_path / "new" / "out", "--max-updat", "3")
    refused(*words, names="did you mean --max-update?")
    assert not became


def test_what_cannot_go_on(config, became, tmp_path, refused, capsys):
    out = tmp_path / "out"
    plugin = tmp_path / "another_plugin"
    plugin.mkdir()
    (plugin / "__init__.py").touch()
    for option, place in (("--user-dir", plugin), ("--restore-file", trained())):
        told(capsys, *train(config, out, option, str(place)), code=2)
        refused("resume", out, names=option, case=option)
    path = out / RECORD
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text("{")
    refused("resume", out, names="train.json", case="no JSON")
    for changes, names in (
        ({"precision": 16}, "precision"),
        ({"extra": [], "config": ["what"]}, "`train.json`"),
        ({"extra": [], "data": "gone"}, "DATA"),
    ):
        path.write_text(json.dumps({**record, **changes}), encoding="utf-8")
        refused("resume", out, names=names, case=changes)
    assert len(became) == 2
