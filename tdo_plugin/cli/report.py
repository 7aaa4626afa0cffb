"""`tdo report`: score sheets as tables, figures and one HTML page."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.cli.output_file import check_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.protocols import PROTOCOLS

if TYPE_CHECKING:
    from tdo_plugin.evaluation.report.table import Table
    from tdo_plugin.evaluation.score_sheet import ScoreSheet

HELP = "make tables, heat maps and one HTML page from scores of `tdo score`"
EXAMPLE = "tdo report my-report/scores.json --out my-report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "scores",
        type=Path,
        nargs="+",
        metavar="SCORES",
        help="scores.json of `tdo score`; systems of several files are shown side by side",
    )
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the report")
    add(
        "--title",
        default="",
        metavar="TEXT",
        help="title of the report (default: the name of the data folder)",
    )
    add(
        "--cells",
        type=Path,
        metavar="FILE",
        help="instead: tables over the axes of a grid, with all cells, means and best values; the "
        "JSON file FILE assigns values to systems and selects the tables",
    )
    add(
        "--protocol",
        choices=tuple(PROTOCOLS),
        help="report as this paper does, with its rows next to the measured rows; the scores must "
        "come from `tdo score` with the same --protocol",
    )
    add(
        "--published",
        action="append",
        default=[],
        metavar="PAPER[:TABLE]",
        help="also show a paper's rows, such as tdo or tdo:1; repeatable (default: in the written "
        "files, all tables of the paper whose protocol was used)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the tables, and write and list the files; returns 1 if a score is missing."""
    from tdo_plugin.evaluation.report import heatmap, notes, report_tables
    from tdo_plugin.evaluation.report.page import About
    from tdo_plugin.evaluation.report.published_comparison import beside, beside_table, chosen
    from tdo_plugin.evaluation.report.write import write_report
    from tdo_plugin.evaluation.score_sheet import merge
    from tdo_plugin.evaluation.sheet_reading import read_sheet

    check_folder(args.out)
    sheet = merge(read_sheet(path) for path in args.scores)
    if args.cells:
        return _cells(args, sheet)
    if args.protocol and sheet.protocol != args.protocol:
        raise UserError(
            f"`--protocol` must be that of the scores, {sheet.protocol or 'none'}; "
            f"it is {args.protocol}"
        )
    published = args.published or ([args.protocol] if args.protocol else [])
    by_key = {key: beside(key, sheet) for key in chosen(published, sheet)}
    besides = list(
        {
            comparison.key: comparison
            for comparisons in by_key.values()
            for comparison in comparisons
        }.values()
    )
    requested = besides if published else []
    show_scores(sheet)
    seeds = report_tables.seeds(sheet)
    further = [beside_table(comparison, sheet) for comparison in requested]
    for table in [*([seeds] if seeds else []), *further]:
        show(table, [table.caption])
    apart = [
        f"{key} has no measured column" for key, comparisons in by_key.items() if not comparisons
    ]
    print(*notes.results(sheet), *apart, "", sep="\n")
    about = About(args.title, _run_folder(args.out))
    for path in write_report(sheet, besides, args.out, about):
        print(path.resolve(), flush=True)
    if not heatmap.available():
        print("no figures: matplotlib is not installed (pip install matplotlib)")
    return _ended(sheet)


def _cells(args: argparse.Namespace, sheet: ScoreSheet) -> int:
    """Print the tables over axes, and write and list their files."""
    from tdo_plugin.evaluation.report.cell_results import gather
    from tdo_plugin.evaluation.report.cell_tables import tables_of, write
    from tdo_plugin.evaluation.report.cells import read_cells

    for option in ("protocol", "published", "title"):
        if getattr(args, option):
            raise UserError(f"`--{option}` must be left out with --cells, whose FILE sets it")
    cells = read_cells(args.cells)
    results = gather(cells, sheet, args.cells.parent)
    for table in tables_of(results):
        show(table, [table.caption])
    if cells.published and not results.published.rows:
        print(f"{cells.published} has no measured column.")
    args.out.mkdir(parents=True, exist_ok=True)
    for path in write(results, args.out):
        print(path.resolve(), flush=True)
    return _ended(sheet)


def _run_folder(out: Path) -> Path | None:
    """The run folder of `tdo reproduce` that `out` is in, if any."""
    from tdo_plugin.experiments.steps import RECORDS

    return next((folder for folder in out.resolve().parents if (folder / RECORDS).is_dir()), None)


def show_scores(sheet: ScoreSheet) -> None:
    """Print the summary of a score sheet, and the verdict."""
    from tdo_plugin.evaluation.report import notes, report_tables
    from tdo_plugin.evaluation.report.verdict import verdict_lines

    table = report_tables.summary(sheet)
    show(table, [*notes.below(sheet, table, "bold" if _bold() else "*"), "", *verdict_lines(sheet)])


def show(table: Table, lines: Sequence[str]) -> None:
    """Print a table, fitted to the width of the terminal, and the lines below it."""
    from tdo_plugin.evaluation.report.text_tables import terminal

    width = shutil.get_terminal_size((100, 24)).columns
    print(table.title, "", terminal(table, width, _bold()), "", *lines, "", sep="\n")


def _bold() -> bool:
    """Whether the terminal shows the best scores in bold."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _ended(sheet: ScoreSheet) -> int:
    """The exit code; prints the reason if it is not 0."""
    if not (sheet.failures or sheet.missing):
        return 0
    tell(f"tdo report: some scores are missing: {_lacking(sheet)}")
    return 1


def _lacking(sheet: ScoreSheet) -> str:
    from tdo_plugin.evaluation.score_sheet import METRICS

    names = [METRICS[key].name for key in sheet.missing]
    return "; ".join([*sheet.failures, *([f"no {', '.join(names)}"] if names else [])])
