"""`tdo reproduce all`: the headline table of each paper, and one page of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli import collect, reproduce
from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import RaisingParser

if TYPE_CHECKING:
    from tdo_plugin.experiments.tables import PlannedTable

SMOKE = "smoke"
DESCRIPTION = (
    "The headline table of each of five papers, one paper after the other: those of its rows that "
    "show what the paper found, then one page with all of them, RUN/index.html. At the scale smoke "
    "all tables and figures."
)


def run_all(args: argparse.Namespace) -> int:
    """Do what is not done yet of all papers; 1 where a step failed, and then without its paper."""
    _read(args)
    out = args.out or Path("runs") / f"{reproduce.ALL}-{args.scale}"
    # mistakes are said before the first paper is trained
    papers = [(own, *reproduce.planned(own)) for own in _of_each_paper(args, out)]
    reports, failed = [], 0
    for own, plan, tables in papers:
        print(f"{own.experiments}: {plan.setting.document.title}", flush=True)
        code = reproduce.make(own, plan, tables)
        failed = max(failed, code)
        reports += [_report(table) for table in tables if table.table.headline and not code]
    if reports and not (args.dry_run or args.estimate):
        collect.write_page(f"Papers, {args.scale}", reports, out / "index.html")
    return failed


def _read(args: argparse.Namespace) -> None:
    parser = RaisingParser(
        prog=f"tdo reproduce {reproduce.ALL}", description=DESCRIPTION, allow_abbrev=False
    )
    reproduce.add_options(parser)
    own = parser.add_argument_group("of all")
    own.add_argument("--papers", metavar="NAME,...", help="some of them")
    own.add_argument("--whole", action="store_true", help="all rows of these tables")
    own.add_argument("--from", metavar="PATH", help="folder with the corpora's archives")
    parser.parse_args(args.rest, namespace=args)
    args.scale = args.scale or "toy"


def _of_each_paper(args: argparse.Namespace, out: Path) -> Iterator[argparse.Namespace]:
    """The command line of each paper."""
    from tdo_plugin.experiments.library import PAPERS, find, setting_of

    for paper in args.papers.split(",") if args.papers else PAPERS:
        if paper not in PAPERS:
            raise UserError(f"`--papers` must be of {', '.join(PAPERS)}; {paper} is none of them")
        document, own = find(paper), copy(args)
        own.experiments, own.rest, own.out = paper, [], out / paper
        if args.scale != SMOKE:
            own.rest = [name for name, table in document.tables.items() if table.headline]
            own.headline = not args.whole
            updates = document.tables[own.rest[0]].headline_updates
            own.updates = args.updates or setting_of(document, args.scale, {}).of_scale(updates)
        yield own


def _report(table: PlannedTable) -> list[str]:
    """What `tdo collect --report` takes."""
    heading = f"{table.plan.setting.document.title}, {table.name.replace('table', 'table ')}"
    return [heading, str(table.folder), table.published]
