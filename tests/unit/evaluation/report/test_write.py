"""All files of a report."""

import errno
import os
from itertools import product

import pytest
from support.score_sheets import seeded, sheet

from tdo_plugin.evaluation.report import heatmap
from tdo_plugin.evaluation.report.page import About, html_page
from tdo_plugin.evaluation.report.published_comparison import beside
from tdo_plugin.evaluation.report.write import latex_report, markdown_report, write_report

FILES = ["index.html", "results.md", "results.tex", "results.csv", "results.json"]


def test_every_file_is_named_and_there(tmp_path, monkeypatch):
    monkeypatch.setattr(heatmap, "available", lambda: False)
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    for name in ("matrix-bleu-earlier.csv", "heatmap-chrf.png"):  # of an earlier report
        (out / name).touch()
    paths = [*write_report(sheet(), [], out, About())]
    pairs = product(("bleu", "off", "perplexity"), ("plain", "few"))
    matrices = [f"matrix-{metric}-{name}.csv" for metric, name in pairs]
    assert [path.name for path in paths] == [*FILES, *matrices]
    assert {*paths} == {*out.iterdir()}


def test_seeds_are_in_every_form_of_the_report():
    score_sheet = seeded()
    assert "| few | 2 | **31.5 ± 2.1** |" in markdown_report(score_sheet, [], About())
    assert r"\textbf{31.5 $\pm$ 2.1}" in latex_report(score_sheet, [])
    assert '<section id="seeds"><h2>Over seeds</h2>' in html_page(score_sheet, [], About())
    assert "Over seeds" not in markdown_report(sheet(), [], About())


def test_markdown_tells_everything():
    score_sheet = sheet(failures=("few ar-de: no hypotheses",))
    text = markdown_report(score_sheet, beside("tdo:1", score_sheet), About("my text"))
    for passage in (
        "# my text: report\n\n- Arabic → German (zero-shot): plain has 7.2 BLEU.",
        "| few | **30.0**▲ |",
        "Marks: ▲ ▼ significantly better",
        "| *TDO, Table 1: TED-19, N=6, d=512* |",
        "| en → de | 10.0 | **30.0** |",
        "- Not scored: few ar-de: no hypotheses",
        "- COMET is missing: unbabel-comet is not installed",
        r"- BLEU: BLEU\|tok:zh",
        r'"sha256": "9f\<2\>c"',
        r'- scores: \{"command": "tdo score"',
    ):
        assert passage in text


def test_a_full_disk_leaves_the_report_that_there_was(tmp_path, monkeypatch):
    """And of a new one nothing: no page without its pictures."""

    def draw(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = {
        path: path.read_bytes() for path in write_report(sheet(), [], tmp_path / "out", About())
    }
    monkeypatch.setattr(heatmap, "available", lambda: True)
    monkeypatch.setattr(heatmap, "draw", draw)
    for name in ("out", "new"):
        with pytest.raises(OSError, match=f"{tmp_path / name}"):
            list(write_report(sheet(notes=("Another note.",)), [], tmp_path / name, About()))
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert not list((tmp_path / "new").iterdir())
