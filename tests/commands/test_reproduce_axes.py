"""`tdo reproduce` on tables over axes: trained, translated and scored once, shown by their axes."""

import json
from pathlib import Path

import pytest
from support.score_sheets import Page

from tdo_plugin.cli import main

FILE = """
title = "Where the target enters"
extends = "quickstart"

[scales.smoke.flags]
disable-validation = false
eval-translation = "supervised"
eval-sentences = 2

[tables.enters]
title = "Enters"
axes = ["enters", "instrucl", "scaled"]
system = "prefix-decoder-only"
label = "{enters}-{instrucl}-{scaled}"
score = "--metrics bleu,ter --samples 0 --examples 0"
twins = true

[tables.best]
title = "The best"
cells = "enters"
best = ["enters"]

[tables.validated]
title = "Validated"
measure = "validation"
axes = ["enters", "instrucl", "scaled"]
system = "prefix-decoder-only"
label = "{enters}-{instrucl}-{scaled}"
groups = ["en → X", "X → en"]
"""
ROWS = "*enters=M0+instrucl=no*,*enters=M1+instrucl=yes+scaled=sum"
CELLS = ["M0-no-sum", "M0-no-per-token", "M1-yes-sum"]


def content(run: Path, table: str) -> dict:
    return json.loads((run / "report" / table / "grid.json").read_text(encoding="utf-8"))


@pytest.mark.full
def test_tables_over_axes_from_the_corpus_to_the_report(tmp_path, capfd):
    (tmp_path / "mine.toml").write_text(FILE, encoding="utf-8")
    run = tmp_path / "run"
    words = ["reproduce", str(tmp_path / "mine.toml"), "--scale", "smoke", "--rows", ROWS]
    words += ["--out", str(run), "--cpu"]
    assert main(words) == 0, capfd.readouterr().out
    assert "including 2 training runs" in capfd.readouterr().out
    cells = {cell["cell"]: cell for cell in content(run, "enters")["cells"]}
    assert list(cells) == CELLS
    assert cells["M0-no-per-token"]["run"] == "M0-no-sum"
    assert cells["M0-no-per-token"]["scores"] == cells["M0-no-sum"]["scores"]
    sheet = json.loads((run / "report" / "enters" / "scores.json").read_text(encoding="utf-8"))
    assert [system["name"] for system in sheet["systems"]] == ["M0-no-sum", "M1-yes-sum"]
    for cell in cells.values():
        assert cell["scores"]["ter all"] == sheet["means"][cell["run"]]["all"]["ter"]
        assert cell["parameters"] > 1000
    assert list(content(run, "best")["best"]["enters"]) == ["M0", "M1"]
    assert not (run / "report" / "best" / "scores.json").exists()
    page = Page((run / "report" / "index.html").read_text(encoding="utf-8"))
    links = {attributes["href"] for attributes, _ in page.all("a")}
    assert {"enters/index.html", "enters/grid.md", "best/grid.md"} <= links
    _validated(run)
    assert main(words) == 0
    assert "0 steps" in capfd.readouterr().out


def _validated(run: Path) -> None:
    """The same trainings, by what they measured last."""
    cells = {cell["cell"]: cell for cell in content(run, "validated")["cells"]}
    assert list(cells) == ["M0-no-sum", "M1-yes-sum"]  # twins are shown once
    name = "prefix-decoder-only+enters=M1+instrucl=yes+scaled=sum"
    lines = (run / name / "checkpoints" / "validation.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    last = max(row["update"] for row in rows)
    chrf = [row["chrf"] for row in rows if row["update"] == last and row["direction"][:2] == "en"]
    assert cells["M1-yes-sum"]["scores"]["chrf en → X"] == pytest.approx(sum(chrf) / len(chrf))
