"""`tdo collect`: combine several reports on one page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.output_file import make_folder
from tdo_plugin.errors import UserError
from tdo_plugin.names import check_titles

if TYPE_CHECKING:
    from tdo_plugin.evaluation.report.collection import Collected

HELP = "combine several reports on one HTML page"
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
        help="a report's heading, its folder (with scores.json in it or below), and published "
        "tables to compare with, such as tdo:1; repeatable",
    )
    add("--title", default="Translation reports", help="title of the page (default: %(default)s)")
    add("--out", type=Path, required=True, metavar="FILE", help="the page to write")


def run(args: argparse.Namespace) -> int:
    """Collect the score sheets and figures, and write the page."""
    write_page(args.title, args.report, args.out)
    return 0


def write_page(title: str, reports: Sequence[Sequence[str]], out: Path) -> None:
    """Write several reports on one page, and print its path.

    Args:
        title: the page's title.
        reports: for each report its heading, its folder, and published tables to compare with.
        out: the HTML file to write.

    Raises:
        UserError: a folder without a score sheet, or a page that cannot be written.
    """
    from tdo_plugin.evaluation.report.collection import collection_page
    from tdo_plugin.runtime.files import complete_file

    if out.is_dir():
        raise UserError(f"`--out` must be a file; {out} is a folder")
    text = collection_page(title, [_collected(words, out.resolve().parent) for words in reports])
    make_folder(out, "--out")
    with complete_file(out) as stream:
        stream.write(text)
    print(out.resolve())


def _collected(words: Sequence[str], base: Path) -> Collected:
    from tdo_plugin.evaluation.report.collection import (
        Collected,
        links_to,
        pictures_below,
        sheet_below,
    )

    if len(words) < 2:
        raise UserError(f"`--report` must be followed by NAME and DIR; it is {' '.join(words)}")
    name, place, *published = words
    check_titles([name], "`--report`")
    folder = Path(place)
    sheet = sheet_below(folder)
    if sheet is None:
        raise UserError(f"`--report` must name a folder with a scores.json; {folder} has none")
    return Collected(name, sheet, published, pictures_below(folder), links_to(folder, base))
