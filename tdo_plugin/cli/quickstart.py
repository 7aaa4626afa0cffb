"""`tdo quickstart`: make the table of the experiment file `quickstart` by `tdo reproduce`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from tdo_plugin.cli import report, reproduce
from tdo_plugin.cli.reproduce_options import run_options

HELP = "make a small corpus, train two systems on it, translate, score and compare them"
EXAMPLE = "tdo quickstart --dry-run"

NAME = "quickstart"  # name of the experiment file and of its table
SCALE = "toy"  # default scale
RUN = Path("runs") / NAME  # run folder at the default scale
TWO_STAGE = "tdo-instrucl"  # the system that is good at zero-shot directions


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
    model, data = args.out / TWO_STAGE / "average.pt", args.out / "text" / "data"
    words = ["tdo", "translate", str(data), "--path", str(model), "-s", "de", "-t", "es"]
    print(f"Open {args.out / REPORT / PAGE} for every direction, with example sentences.")
    print(f"{args.out} has the corpus and each system's flags, checkpoints and translations.")
    print("To translate between two languages without training pairs, line by line:")
    print(f"  {shlex.join([*words, '--interactive'])}")
    return 0
