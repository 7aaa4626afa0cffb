"""`tdo quickstart`: make the table of the experiment file `quickstart` by `tdo reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.cli import report, reproduce
from tdo_plugin.cli.next_steps import show_next
from tdo_plugin.cli.reproduce_options import run_options

HELP = "make a small corpus, train two systems on it, translate, score and compare them"
EXAMPLE = "tdo quickstart --dry-run"

NAME = "quickstart"  # name of the experiment file and of its table
SCALE = "toy"  # default scale
RUN = Path("runs") / NAME  # run folder at the default scale


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    run_options(
        parser, scales="toy, or smoke for a quick test run (default toy)",
        place=f"{RUN}; {RUN}-SCALE at scales other than {SCALE}",
    )  # fmt: skip
    parser.set_defaults(experiments=NAME, rest=[NAME])


def run(args: argparse.Namespace) -> int:
    """Make the table, print it, and list the results; returns 1 if a step failed."""
    from tdo_plugin.evaluation.sheet_reading import read_sheet
    from tdo_plugin.experiments.tables import PAGE, REPORT, SHEET

    other = args.scale not in (None, SCALE)
    args.out = args.out or (RUN.with_name(f"{NAME}-{args.scale}") if other else RUN)
    failed = reproduce.run(args)
    if failed or args.dry_run:
        return failed
    report.show_scores(read_sheet(args.out / REPORT / NAME / SHEET))
    print(f"Report, for a browser: {args.out / REPORT / PAGE}")
    show_next(args.out, "de", "es")  # a pair without training text
    return 0
