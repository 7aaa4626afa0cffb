"""`tdo curve updates`: validation scores over training updates, as a table and a figure."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.cli.curve_lines import curve_table, named_paths
from tdo_plugin.errors import UserError

HELP = "plot validation scores over updates"
EXAMPLE = 'tdo curve updates "6 layers=my-model/validation.jsonl" --out curve.svg'

WHAT = "NAME=FILE"
GROUPS = ("zero-shot", "supervised")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "trainings",
        nargs="+",
        metavar=f"{WHAT}[:FILE]",
        help="a line's name and the validation.jsonl of its training run (written with "
        "--eval-translation), or several files of consecutive training runs",
    )
    add(
        "--group", choices=GROUPS, default=GROUPS[0], help="directions to show (default: zero-shot)"
    )
    add(
        "--metrics",
        default="bleu,accuracy",
        metavar="M,M",
        help="any of bleu, chrf, accuracy (share of outputs in the target language) (default: "
        "%(default)s)",
    )
    add("--out", type=Path, metavar="FILE", help="also draw a figure: .svg, .png (with matplotlib)")
    add("--no-figures", action="store_true", help="numbers only, no matplotlib")


def run(args: argparse.Namespace) -> int:
    """Print the mean scores at every validation, and draw them."""
    from tdo_plugin.analysis.curves import METRICS, NAMES, draw_curves, read_curve
    from tdo_plugin.analysis.figure_files import check

    metrics = args.metrics.split(",")
    if unknown := [name for name in metrics if name not in METRICS]:
        raise UserError(f"`--metrics` must be among {', '.join(METRICS)}; it has {unknown[0]}")
    out = None if args.no_figures else args.out
    if out:
        check(out, "--out")
    named = named_paths(args.trainings, WHAT)
    curves = {name: read_curve(files, args.group) for name, files in named.items()}
    for metric in metrics:
        if not all(metric in scores for curve in curves.values() for scores in curve.values()):
            raise UserError(
                f"`--metrics` must have been measured at every validation; {metric} was not"
            )
    print(curve_table(curves, metrics, NAMES, digits=1))
    if out:
        draw_curves(curves, metrics, f"{args.group} directions, means at each validation", out)
        print(out.resolve())
    return 0
