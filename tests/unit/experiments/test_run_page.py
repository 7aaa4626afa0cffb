"""The page of a run: its only report, or all of its tables."""

import json
from pathlib import Path

from support.experiments import plan
from support.score_sheets import Page, sheet

from tdo_plugin.evaluation.score_sheet import as_json
from tdo_plugin.experiments.run_page import write_run_page


def put(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"{name} of {folder.name}")
    (folder / "scores.json").write_text(json.dumps(as_json(sheet())))


def test_a_run_of_one_table_shows_its_report(tmp_path):
    made, report = plan(tmp_path), tmp_path / "run" / "report"
    assert write_run_page(made) is None and not report.exists()
    (report / "parts").mkdir(parents=True)  # of a table that failed
    put(report / "table1", "index.html")
    assert write_run_page(made) == report / "index.html"
    assert (report / "index.html").read_text() == "index.html of table1"


def test_a_run_of_several_tables_links_their_reports(tmp_path):
    made, report = plan(tmp_path), tmp_path / "run" / "report"
    put(report / "another", "grid.md")  # of another file
    for block in ("de", "fr"):  # each with a page
        put(report / "parts" / block, "index.html", "grid.md")
    (report / "figure").mkdir()
    for name in ("curve.png", "curve.txt"):
        (report / "figure" / name).write_bytes(b"")
    put(report / "table1", "index.html")
    page = Page(write_run_page(made).read_text(encoding="utf-8"))
    assert [text for _, text in page.all("h1")] == ["Two systems: reports (run)"]
    sections = [text for _, text in page.all("h2")]
    assert sections == ["table 1", "parts, de", "parts, fr", "another", "figure"]
    assert "one model for each direction" in [text for _, text in page.all("p")]
    links = [attributes["href"] for attributes, _ in page.all("a")][len(sections) :]
    assert links == [
        *("table1/index.html", "parts/de/index.html", "parts/de/grid.md"),
        *("parts/fr/index.html", "parts/fr/grid.md", "another/grid.md", "figure/curve.txt"),
    ]
    assert len(page.all("img")) == 1
