"""`tdo reproduce all`: which tables that is, and the page of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli import collect
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.experiments.tables import PlannedTable

ALL = "all"  # in the place of a file
SMOKE = "smoke"
DESCRIPTION = (
    "The headline table of each of five papers, one paper after the other: those of its rows that "
    "show what the paper found, then one page with all of them, RUN/index.html. At the scale smoke "
    "all tables and figures."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what it takes beside the options of any file."""
    own = parser.add_argument_group("of all")
    own.add_argument("--papers", metavar="NAME,...", help="some of the papers")
    own.add_argument("--whole", action="store_true", help="all rows of their headline tables")


def of_each_paper(args: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """The command line of each paper, with a folder of its own in `out`.

    Raises:
        UserError: a paper or a scale that there is not.
    """
    from tdo_plugin.experiments.library import PAPERS, find, setting_of

    for paper in args.papers.split(",") if args.papers else PAPERS:
        if paper not in PAPERS:
            raise UserError(f"`--papers` must be of {', '.join(PAPERS)}; {paper} is none of them")
        document, own = find(paper), copy(args)
        own.experiments, own.rest, own.out = paper, [], args.out / paper
        if args.scale != SMOKE:
            own.rest = [name for name, table in document.tables.items() if table.headline]
            own.headline = not args.whole
            updates = document.tables[own.rest[0]].headline_updates
            own.updates = args.updates or setting_of(document, args.scale, {}).of_scale(updates)
        yield own


def write_page(scale: str, tables: Sequence[PlannedTable], out: Path) -> None:
    """Put the headline tables among some that are made on one page."""
    reports = [
        [
            f"{table.plan.setting.document.title}, {table.name.replace('table', 'table ')}",
            *(str(table.folder), table.published),
        ]
        for table in tables
        if table.table.headline
    ]
    if reports:
        collect.write_page(f"Papers, {scale}", reports, out)
