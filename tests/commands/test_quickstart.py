"""`tdo quickstart`: what it shows, makes and says at its end."""

import shlex
import sys
from pathlib import Path

import pytest
from support import experiment_stand_in
from support.commands import told

from tdo_plugin.cli import main
from tdo_plugin.experiments import library, runner


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder where commands are given."""
    monkeypatch.chdir(tmp_path)
    for name in ("LID", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_it_is_the_table_of_its_experiments(here, capsys):
    shown, _ = told(capsys, "quickstart", "--dry-run")
    same = ("reproduce", "quickstart", "quickstart", "--out", "runs/quickstart", "--dry-run")
    assert shown == told(capsys, *same)[0]
    assert f"+ tdo train {here}/runs/quickstart/tdo-instrucl/system.conf " in shown
    shown, _ = told(capsys, "quickstart", "--scale", "smoke", "--dry-run")
    assert f"+ tdo train {here}/runs/quickstart-smoke/tdo-instrucl/system.conf " in shown
    assert not list(here.iterdir())


def test_a_failure_ends_without_a_table(here, capsys, monkeypatch):
    monkeypatch.setattr(runner, "TDO", (sys.executable, experiment_stand_in.__file__))
    monkeypatch.setenv("NOTES", str(here / "notes"))
    monkeypatch.setenv("FAILS", "score")
    printed, errors = told(capsys, "quickstart", "--scale", "smoke", "--cpu", code=1)
    assert "error: quickstart/text/scores: ended with 3" in errors and "browser" not in printed


def test_an_installation_without_the_experiments(here, refused, monkeypatch):
    monkeypatch.setattr(library, "FOLDER", here / "gone")
    refused("quickstart", names="EXPERIMENTS")


@pytest.mark.full
def test_it_ends_with_scores_and_what_to_look_at(here, capsys):
    printed, _ = told(capsys, "quickstart", "--scale", "smoke", "--cpu")
    table, _, end = printed.partition("\nScores\n")[2].partition("Means over directions")
    for text in ("prefix-decoder-only", "tdo-instrucl", "BLEU", "zero-shot"):
        assert text in table
    *_, page, made, _, example = end.strip().splitlines()
    opened = Path(page.split()[1])
    assert opened == Path("runs/quickstart-smoke/quickstart/index.html") and opened.is_file()
    assert made.startswith("runs/quickstart-smoke has")
    words = shlex.split(example)
    (here / "text").write_text("die katze schläft\n")
    words[-1:] = ["--input", "text", "--cpu", "--max-len-b", "3"]
    assert words[0] == "tdo" and main(words[1:]) == 0
