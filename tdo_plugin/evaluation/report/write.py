"""Writing all files of a report together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tdo_compat.errors import named_when_full
from tdo_plugin.evaluation.report import heatmap, notes, report_tables
from tdo_plugin.evaluation.report.latex import latex
from tdo_plugin.evaluation.report.page import About, html_page
from tdo_plugin.evaluation.report.published_comparison import Beside, beside_table
from tdo_plugin.evaluation.report.report_files import slugs, write_csv, write_json, write_matrix
from tdo_plugin.evaluation.report.table import Table
from tdo_plugin.evaluation.report.text_tables import escape_markdown, markdown
from tdo_plugin.evaluation.report.verdict import verdict_lines
from tdo_plugin.evaluation.score_sheet import ScoreSheet
from tdo_plugin.runtime.files import complete_file

PICTURES = (".png", ".pdf")
OF_SYSTEMS = ("matrix-*.csv", *(f"heatmap-*{suffix}" for suffix in PICTURES))


def write_report(
    sheet: ScoreSheet, besides: Sequence[Beside], folder: Path, about: About
) -> Iterator[Path]:
    """Write every file, and yield their paths when all are written.

    Files are written to a temporary folder first, so that a full disk leaves an earlier report
    intact. Figures are skipped if matplotlib is not installed. Matrices and figures of an earlier
    report that are not in this report are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with named_when_full(folder), TemporaryDirectory(prefix=".report-", dir=folder) as scratch:
        names = [path.name for path in _write(sheet, besides, Path(scratch), about)]
        for name in reversed(names):  # the page last, as it shows the others
            os.replace(Path(scratch, name), folder / name)
    for pattern in OF_SYSTEMS:  # of an earlier report with other systems or metrics
        for path in folder.glob(pattern):
            if path.name not in names:
                path.unlink()
    yield from (folder / name for name in names)


def _write(
    sheet: ScoreSheet, besides: Sequence[Beside], folder: Path, about: About
) -> Iterator[Path]:
    for name, text in (
        ("index.html", html_page(sheet, besides, about)),
        ("results.md", markdown_report(sheet, besides, about)),
        ("results.tex", latex_report(sheet, besides)),
    ):
        with complete_file(folder / name) as stream:
            stream.write(text)
        yield folder / name
    for name, write in (("results.csv", write_csv), ("results.json", write_json)):
        write(folder / name, sheet, besides)
        yield folder / name
    yield from _matrices(sheet, folder)


def _matrices(sheet: ScoreSheet, folder: Path) -> Iterator[Path]:
    names = slugs(system.name for system in sheet.systems)
    for metric in report_tables.measured_metrics(sheet):
        for system, slug in names.items():
            path = folder / f"matrix-{metric}-{slug}.csv"
            write_matrix(path, sheet, system, metric)
            yield path
        if heatmap.available():
            paths = [folder / f"heatmap-{metric}{suffix}" for suffix in PICTURES]
            heatmap.draw(sheet, metric, paths)
            yield from paths


def overview(sheet: ScoreSheet, besides: Sequence[Beside]) -> list[Table]:
    """The tables for a terminal or a paper: all except that of every direction."""
    tables = [
        report_tables.summary(sheet),
        report_tables.seeds(sheet),
        report_tables.differences(sheet),
        report_tables.languages(sheet),
        *(beside_table(published_table, sheet) for published_table in besides),
    ]
    return [table for table in tables if table]


def markdown_report(sheet: ScoreSheet, besides: Sequence[Beside], about: About) -> str:
    """The verdict, all tables and notes as one Markdown document."""
    parts = [f"# {escape_markdown(about.heading(sheet))}", _bullets(verdict_lines(sheet))]
    for table in overview(sheet, besides):
        parts += _section(sheet, table)
    parts += ["## Notes", _bullets(notes.results(sheet))]
    parts += ["## Made by", _bullets(notes.origins(sheet))]
    parts += _section(sheet, report_tables.by_direction(sheet))
    return "\n\n".join(parts) + "\n"


def _section(sheet: ScoreSheet, table: Table) -> list[str]:
    lines = map(escape_markdown, notes.below(sheet, table))
    return [f"## {escape_markdown(table.title)}", markdown(table), *lines]


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escape_markdown(line)}" for line in lines) or "Nothing is known."


def latex_report(sheet: ScoreSheet, besides: Sequence[Beside]) -> str:
    """The tables for a paper, for inclusion by `\\input`."""
    missing = [f"{why}." for why in notes.missing(sheet)]
    written = [
        latex(table, [*notes.below(sheet, table), *(missing if table.key == "scores" else [])])
        for table in overview(sheet, besides)
    ]
    return "\n".join(["% \\usepackage{booktabs}", *written])
