"""`tdo reproduce all`: the headline tables of all papers, and a page with them."""

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

ALL = "all"  # given instead of an experiment file
SMOKE = "smoke"
DESCRIPTION = (
    "Makes the headline table of each of the five papers, one paper after another, with the rows "
    "that show the paper's main result, then one page with all of them, RUN/report/index.html. At "
    "scale smoke it makes all tables and figures."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the additional options of `tdo reproduce all`."""
    own = parser.add_argument_group("options of `all`")
    own.add_argument("--papers", metavar="NAME,...", help="only these papers (default: all)")
    own.add_argument("--whole", action="store_true", help="make all rows of the headline tables")


def of_each_paper(args: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """The command line of each paper, with a separate folder in `out`.

    Raises:
        UserError: an unknown paper or scale.
    """
    from tdo_plugin.experiments.library import PAPERS, find, setting_of

    for paper in args.papers.split(",") if args.papers else PAPERS:
        if paper not in PAPERS:
            raise UserError(f"`--papers` must be among {', '.join(PAPERS)}; it has {paper}")
        document, own = find(paper), copy(args)
        own.experiments, own.rest, own.out = paper, [], args.out / paper
        if args.scale != SMOKE:
            own.rest = [name for name, table in document.tables.items() if table.headline]
            own.headline = not args.whole
            updates = document.tables[own.rest[0]].headline_updates
            own.updates = args.updates or setting_of(document, args.scale, {}).of_scale(updates)
        yield own


def write_page(scale: str, tables: Sequence[PlannedTable], run: Path) -> None:
    """Write the run's page, with the headline tables among `tables`."""
    from tdo_plugin.experiments.tables import PAGE, REPORT, title_of

    reports = [
        [title_of(table.plan.setting.document, table.name), str(table.folder), table.published]
        for table in tables
        if table.table.headline
    ]
    if reports:
        collect.write_page(f"Papers, {scale}", reports, run / REPORT / PAGE)
