"""`tdo grid` on a real grid of 2 x 2 cells: ended in the middle, gone on with, collected."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import environment
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN
from support.prepared import LARGER, prepared

from tdo_plugin.cli import main

GRID = {
    "title": "Dropout",
    "base": "base.conf",
    "axes": {
        "where": {"all": ["--dropout 0.1"], "attention": ["--attention-dropout 0.1"]},
        "drop": {"no": {"drops": ["where"]}, "yes": []},
    },
    "cells": {"broken": {"lines": ["--arch nonsense"]}},
    "directions": "de-en,en-de",
    "translate": ["--average last-2 --beam 2"],
}
BEHIND = ("--", "--max-update", "120", "--save-interval-updates", "20", "--no-epoch-checkpoints")
RUNS = ("all-no", "all-yes", "attention-yes")


def lines(words: tuple[str, ...]) -> Iterator[str]:
    """A command's flags as lines of a config."""
    yield from " ".join(words).replace(" --", "\n--").splitlines()


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grid")
    flags = ("--task", "tdo_translation", *TAG, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY)
    (folder / "base.conf").write_text("\n".join([*lines(flags), "--disable-validation"]))
    (folder / "drop.json").write_text(json.dumps(GRID))
    return folder / "drop.json"


def command(grid: Path, action: str, *words: object) -> list[str]:
    out = grid.parent / "out"
    return ["grid", action, str(grid), str(prepared().root), "--out", str(out), *map(str, words)]


@pytest.mark.long
def test_a_grid_from_the_first_training_to_the_table(
    grid: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = grid.parent / "out"
    _begin_and_end(grid, out)
    # it goes on; the broken cell is reported, and keeps no other from being done
    capfd.readouterr()
    assert main(command(grid, "run", "--cpu", "--workers", "2", *BEHIND)) == 1
    captured = capfd.readouterr()
    assert "all-no: training goes on" in captured.out and "3 of 4 runs are done" in captured.out
    (error,) = captured.err.splitlines()
    assert re.match(r"error: broken: training ended with \d+: .*--arch.* \(all of it: .*\)", error)
    assert "Loaded checkpoint" in (out / "all-no" / "train.log").read_text()
    for name in RUNS:
        assert {path.name for path in (out / name / "output").glob("*.hyp")} == {
            *("de-en.hyp", "en-de.hyp"),
        }
    # what is done is done, also as a Slurm task
    before = (out / "all-yes" / "train.log").read_text()
    assert main(command(grid, "run", "--cpu", "--task", "2", *BEHIND)) == 0
    assert "all-yes is done already" in capfd.readouterr().out
    assert (out / "all-yes" / "train.log").read_text() == before
    # other flags are refused
    assert main(command(grid, "run", "--cpu", "--only", "all-yes", *BEHIND, "--lr", "1")) == 2
    assert capfd.readouterr().err.count("\n") == 1
    _collect(grid, out, capfd)


def test_a_grid_that_is_scored_by_validation_sets(
    grid: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    changes = {
        "measure": "validation",
        "axes": {"drop": {"no": [], "yes": ["--dropout 0.1"]}},
        "cells": {},
        "groups": ["en → X", "X → en"],
    }
    kept = {key: value for key, value in GRID.items() if key not in ("directions", "translate")}
    # the folder's base turns validation off
    base = (grid.parent / "base.conf").read_text().replace("--disable-validation", "")
    (grid.parent / "validated.conf").write_text(base + "--eval-translation supervised\n")
    validated = grid.with_name("validated.json")
    validated.write_text(json.dumps({**kept, **changes, "base": "validated.conf"}))
    words = ["--out", str(grid.parent / "validated")]
    data = str(prepared().root)
    assert main(["grid", "collect", str(validated), data, *words]) == 2
    assert "must have a run that is trained" in capfd.readouterr().err
    train = ["--cpu", "--workers", "2", "--", "--max-update", "2"]
    assert main(["grid", "run", str(validated), data, *words, *train]) == 0
    assert "translating" not in capfd.readouterr().out
    assert main(["grid", "collect", str(validated), data, *words]) == 0
    shown = capfd.readouterr().out
    assert "BLEU" in shown and "off-target" in shown
    cells = json.loads((grid.parent / "validated" / "grid.json").read_text())["cells"]
    logged = (grid.parent / "validated" / "yes" / "checkpoints" / "validation.jsonl").read_text()
    rows = [json.loads(line) for line in logged.splitlines()]
    chrf = [row["chrf"] for row in rows if row["update"] == 2 and row["direction"][:2] == "en"]
    assert cells[1]["scores"]["chrf en → X"] == pytest.approx(sum(chrf) / len(chrf))


def _begin_and_end(grid: Path, out: Path) -> None:
    """Ended while it trains."""
    words = command(grid, "run", "--cpu", "--workers", "2", "--only", "all-no,all-yes", *BEHIND)
    process = subprocess.Popen(
        [sys.executable, "-m", "tdo_plugin", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # the one that a training goes on from, which is written last
    while not (out / "all-no" / "checkpoints" / "checkpoint_last.pt").is_file():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    message = process.communicate()[1]
    assert message == "tdo grid: ended by SIGTERM; the same command goes on from what is whole\n"
    assert process.returncode == 143
    assert "done training" not in (out / "all-no" / "train.log").read_text()


def _collect(grid: Path, out: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One table of all cells, the broken one too."""
    assert main(command(grid, "collect", "--best-by", "drop")) == 0
    shown = capfd.readouterr().out
    assert "Dropout: best by drop" in shown and "best by where" not in shown
    assert "attention-no = all-no" in shown and "broken (begun)" in shown
    cells = {cell["cell"]: cell for cell in json.loads((out / "grid.json").read_text())["cells"]}
    assert list(cells) == ["broken", "all-no", "all-yes", "attention-no", "attention-yes"]
    assert cells["attention-no"]["scores"] == cells["all-no"]["scores"]
    for name in RUNS:
        scores = cells[name]["scores"]
        assert list(scores) == ["bleu all", "ter all"] and scores["ter all"] > 0
        assert cells[name]["parameters"] > 1000
    assert set(cells["broken"]["scores"].values()) == {None}
    # the scores are those of tdo score, and are not made again
    sheet = json.loads((out / "scores.json").read_text())
    assert cells["all-yes"]["scores"]["bleu all"] == sheet["means"]["all-yes"]["all"]["bleu"]
    stamp = (out / "scores.json").stat().st_mtime_ns
    assert main(command(grid, "collect")) == 0
    assert "best by where" in capfd.readouterr().out
    assert (out / "scores.json").stat().st_mtime_ns == stamp
