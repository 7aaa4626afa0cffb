"""One row of each paper's tables really runs, from its data to its report, with a few updates.

The full tier runs every table and figure; what they all run is held by test_golden.py.
"""

import json
from pathlib import Path

import pytest

from tdo_plugin.cli import main
from tdo_plugin.experiments.library import PAPERS, find

ROWS = {
    "tdo table1": ("ted19/tdo-prefix+adaptation+instrucl", 1),
    "opus100 table4": ("many-to-many/6-layers+matt+laln+lalt", 1),
    "tpdm table1": ("europarl/small+tpdm", 1),
    "tlm table6": ("de-en/5-layers", 1),
    "neurons table1": ("many-to-many/multilingual+te", 2),  # and what it goes on with
}


@pytest.mark.long
@pytest.mark.parametrize("name", ROWS)
def test_one_row_of_each_paper(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    row, trainings = ROWS[name]
    words = ["reproduce", *name.split(), "--scale", "smoke", "--rows", row, "--cpu"]
    words += ["--out", str(tmp_path)]
    assert main(words) == 0, capfd.readouterr()
    assert f"including {trainings} training runs" in capfd.readouterr().out
    logs = sorted(tmp_path.rglob("checkpoints/train.log"))
    assert len(logs) == trainings
    assert all("@ 2 updates" in log.read_text() for log in logs)
    report = tmp_path / "report" / name.split()[1]
    assert (tmp_path / "report" / "index.html").is_file()
    sheet = json.loads((report / "scores.json").read_text())
    assert len(sheet["systems"]) == 1
    assert main(words) == 0 and "0 steps, including 0" in capfd.readouterr().out


DRAWN = {  # one picture of each kind, and what else only a run leaves
    "tdo": ["figure1/preference/sentence.png", "figure1/bars/sweep.csv", "figure6/index.html"],
    "opus100": ["table6/figure1.svg", "figure1/figure1.txt"],
    "tpdm": ["table4/probe.txt", "table1/figure1-europarl.svg", "table8/times.txt"],
    "tlm": ["table9/grid.tex", "table2/grid.json"],
    "neurons": ["figure2/one-to-many.txt", "figure3/many-to-many.txt", "figure5/sweep/sweep.csv"],
}


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure(
    paper: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the command that makes those of all papers, which ends with their page."""
    words = ["reproduce", "all", "--papers", paper, "--scale", "smoke", "--cpu"]
    words += ["--out", str(tmp_path), "--threads", "1"]
    assert main(words) == 0, capfd.readouterr()
    out = tmp_path / paper / "report"
    for table, described in find(paper).tables.items():
        scored = described.score is not False
        assert (out / table / "index.html").is_file() == (scored and not described.cells), table
    for place in DRAWN[paper]:
        assert (out / place).is_file(), place
    assert (out / "index.html").is_file() and (tmp_path / "report" / "index.html").is_file()
    capfd.readouterr()
    assert main(words) == 0 and "0 steps, including 0" in capfd.readouterr().out
    if paper == "tpdm":
        text = (out / "table8" / "times.txt").read_text()
        for row in ("30.781", "31.046", "94.642", "95.696"):
            assert f"{row} million parameters, {row} in the paper" in text
        assert text.count(" x the plain update") == 4
