"""`tdo collect`: several reports on one page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.average import make_folder
from tdo_plugin.errors import UserError
from tdo_plugin.names import check_titles

if TYPE_CHECKING:
    from tdo_plugin.evaluation.report.collection import Collected

HELP = "put several reports on one HTML page"
EXAMPLE = 'tdo collect --report "TDO, table 1" my-report tdo:1 --out all.html'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "--report",
        action="append",
        nargs="+",
        required=True,
        metavar=("NAME DIR", "PAPER:TABLE"),
        help="its heading, its folder, with scores.json in it or below, and published rows to set "
        "beside it, such as tdo:1; may be repeated",
    )
    add("--title", default="Translation reports", help="stands above all")
    add("--out", type=Path, required=True, metavar="FILE", help="the page to write")


def run(args: argparse.Namespace) -> int:
    """Gather the sheets and pictures, and write the page."""
    from tdo_plugin.evaluation.report.collection import collection_page
    from tdo_plugin.runtime.files import complete_file

    if args.out.is_dir():
        raise UserError(f"`--out` must be a file; {args.out} is a folder")
    reports = [_collected(words, args.out.resolve().parent) for words in args.report]
    text = collection_page(args.title, reports)
    make_folder(args.out, "--out")
    with complete_file(args.out) as stream:
        stream.write(text)
    print(args.out.resolve())
    return 0


def _collected(words: list[str], base: Path) -> Collected:
    from tdo_plugin.evaluation.report.collection import Collected
    from tdo_plugin.evaluation.score_sheet import merge
    from tdo_plugin.evaluation.sheet_reading import read_sheet

    if len(words) < 2:
        raise UserError(f"`--report` must be followed by NAME and DIR; it is {' '.join(words)}")
    name, place, *published = words
    check_titles([name], "`--report`")
    folder = Path(place)
    sheets = sorted(folder.rglob("scores.json"))
    if not sheets:
        raise UserError(f"`--report` must name a folder with a scores.json; {folder} has none")
    page = folder / "index.html"
    return Collected(
        name,
        merge(read_sheet(path) for path in sheets),
        published,
        # of heat maps the page of the report itself has better ones
        [path for path in sorted(folder.rglob("*.png")) if not path.name.startswith("heatmap-")],
        os.path.relpath(page.resolve(), base) if page.is_file() else None,
    )
