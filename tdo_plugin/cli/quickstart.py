"""`tdo quickstart`: the table of the experiments `quickstart`, which `tdo reproduce` makes."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from tdo_plugin.cli import report, reproduce
from tdo_plugin.cli.reproduce_options import run_options

HELP = "make a small corpus, train two systems on it, translate, score and compare them"
EXAMPLE = "tdo quickstart --dry-run"

NAME = "quickstart"  # of the experiments, and of their table
SCALE = "toy"  # unless another is asked for
RUN = Path("runs") / NAME  # at this scale
TWO_STAGE = "tdo-instrucl"  # of the two systems the one that translates what it was not trained on


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    run_options(
        parser, scales="toy, or smoke to see it run (default toy)",
        place=f"{RUN}; {RUN}-SCALE at another scale than {SCALE}",
    )  # fmt: skip
    parser.set_defaults(experiments=NAME, rest=[NAME])


def run(args: argparse.Namespace) -> int:
    """Make the table, then show it and say where everything is; 1 where a step failed."""
    other = args.scale not in (None, SCALE)
    args.out = args.out or (RUN.with_name(f"{NAME}-{args.scale}") if other else RUN)
    failed = reproduce.run(args)
    if failed or args.dry_run:
        return failed
    _show(args.out / NAME)
    model, data = args.out / TWO_STAGE / "average.pt", args.out / "text" / "data"
    words = ["tdo", "translate", str(data), "--path", str(model), "-s", "de", "-t", "es"]
    print(f"{args.out / NAME / 'index.html'} shows every direction in a browser, with sentences.")
    print(f"{args.out} has the corpus and each system's flags, checkpoints and translations.")
    print("Translate between two languages that no training pair has, line by line:")
    print(f"  {shlex.join([*words, '--interactive'])}")
    return 0


def _show(folder: Path) -> None:
    from tdo_plugin.evaluation.report import notes, report_tables
    from tdo_plugin.evaluation.sheet_reading import read_sheet

    sheet = read_sheet(folder / "scores.json")
    report.show(report_tables.summary(sheet), notes.reading(sheet))
