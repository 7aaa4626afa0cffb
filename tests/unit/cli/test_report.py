"""`tdo report` from its command line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import told
from support.score_sheets import sheet, system

from tdo_plugin.evaluation.report import heatmap
from tdo_plugin.evaluation.score_sheet import ScoreSheet, as_json


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    monkeypatch.setattr(heatmap, "available", lambda: False)


def put(path: Path, scores: ScoreSheet) -> Path:
    path.write_text(json.dumps(as_json(scores)), encoding="utf-8")
    return path


def test_tables_are_printed_and_files_named(tmp_path, capsys):
    scores = put(tmp_path / "s.json", sheet(missing={}))
    out = tmp_path / "out"
    printed, _ = told(capsys, "report", scores, "--out", out, "--published", "tdo:1")
    for text in (
        "30.0▲*",
        "Usable? ",
        "TDO, Table 1: TED-19, N=6, d=512",
        "BLEU: BLEU|tok:13a",
        "A note.",
    ):
        assert text in printed
    for name in ("index.html", "results.tex", "matrix-bleu-few.csv"):
        assert f"{out / name}\n" in printed and (out / name).is_file()
    assert "no figures: matplotlib is not installed" in printed


def test_the_title_and_the_run_are_named(tmp_path, capsys):
    scores, run = put(tmp_path / "s.json", sheet(missing={})), tmp_path / "mine"
    (run / ".steps").mkdir(parents=True)
    told(capsys, "report", scores, "--out", run / "report" / "table", "--title", "My text")
    page = (run / "report" / "table" / "index.html").read_text(encoding="utf-8")
    assert "<title>My text: report (mine)</title>" in page and f"run {run} ·" in page


def test_what_was_not_scored_is_one_line_and_exit_code_1(tmp_path, capsys):
    scores, out = put(tmp_path / "s.json", sheet(failures=("few ar-de: lost",))), tmp_path / "out"
    _, error = told(capsys, "report", scores, "--out", out, code=1)
    assert error == "tdo report: some scores are missing: few ar-de: lost; no COMET\n"
    assert (out / "index.html").is_file()


def test_sheets_are_set_side_by_side_and_seeds_averaged(tmp_path, capsys):
    first = sheet(systems=(system("plain"),), comparisons=(), missing={})
    second = sheet(systems=(replace(system("few"), name="other"),), comparisons=(), missing={})
    paths = [put(tmp_path / "a.json", first), put(tmp_path / "b.json", second)]
    printed, _ = told(capsys, "report", *paths, "--out", tmp_path / "out")
    assert printed.index("plain") < printed.index("other")
    assert "30.0*" in printed
    seeds = tuple(replace(system("few"), name=f"few, seed {n}") for n in (1, 2))
    path = put(tmp_path / "s.json", sheet(systems=seeds, comparisons=(), missing={}))
    printed, _ = told(capsys, "report", path, "--out", tmp_path / "seeds")
    assert "Over seeds" in printed and "30.0 ± 0.0" in printed


def test_a_table_without_a_common_column_is_told(tmp_path, capsys):
    scores = put(tmp_path / "s.json", sheet(missing={}))
    for table, lacks in (("neurons:1", False), ("tpdm:8", True)):
        words = ("report", scores, "--out", tmp_path / "out", "--published", table)
        assert (f"{table} has no measured column" in told(capsys, *words)[0]) == lacks


def test_a_protocol_is_that_of_the_scores(tmp_path, capsys):
    scores = put(tmp_path / "s.json", sheet(missing={}, protocol="tdo"))
    printed, _ = told(capsys, "report", scores, "--out", tmp_path, "--protocol", "tdo")
    assert "TDO, Table 1: TED-19, N=6, d=512" in printed


def test_what_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "s.json", sheet())
    put(tmp_path / "tlm.json", sheet(systems=(), comparisons=(), protocol="tlm"))
    (tmp_path / "other.json").write_text("[1]")
    refused.rows(
        """
        report --out out other.json  :: other.json
        report --out out tlm.json --protocol tpdm  :: tlm
        report --out out s.json
            s.json                   :: plain occurs twice
            tlm.json                 :: protocol
            --published nope         :: --published
            --published tdo:99       :: tdo:1
            --out s.json             :: s.json
        """
    )
