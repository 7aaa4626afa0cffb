"""`tdo curve updates`: validation scores over training updates, as a table and a figure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError
from tdo_plugin.names import check_titles

if TYPE_CHECKING:
    from tdo_plugin.analysis.curves import Curve

HELP = "plot validation scores over updates"
EXAMPLE = 'tdo curve updates "6 layers=my-model/validation.jsonl" --out curve.svg'

GROUPS = ("zero-shot", "supervised")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "trainings",
        nargs="+",
        metavar="NAME=FILE[:FILE]",
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
    curves = {name: read_curve(files, args.group) for name, files in _named(args.trainings).items()}
    for metric in metrics:
        if not all(metric in scores for curve in curves.values() for scores in curve.values()):
            raise UserError(
                f"`--metrics` must have been measured at every validation; {metric} was not"
            )
    print("\n".join(_table(curves, metrics, {name: NAMES[name] for name in metrics})))
    if out:
        draw_curves(curves, metrics, f"{args.group} directions, means at each validation", out)
        print(out.resolve())
    return 0


def _named(trainings: Sequence[str]) -> dict[str, list[Path]]:
    by_name: dict[str, list[Path]] = {}
    for text in trainings:
        name, mark, files = text.partition("=")
        if not (name and mark and files):
            raise UserError(f"`NAME=FILE` must name a line and its file; it is {text}")
        if name in by_name:
            raise UserError(f"`NAME=FILE` must name each line once; {name} occurs twice")
        check_titles([name], "`NAME=FILE`")
        by_name[name] = [Path(path) for path in files.split(":")]
    return by_name


def _table(curves: dict[str, Curve], metrics: Sequence[str], names: dict[str, str]) -> list[str]:
    width = max(len("training"), *map(len, curves))
    lines = [
        "  ".join([f"{'training':{width}}", " updates", *(names[metric] for metric in metrics)])
    ]
    for name, curve in curves.items():
        for update, scores in curve.items():
            cells = [f"{scores[metric]:{len(names[metric])}.1f}" for metric in metrics]
            lines.append("  ".join([f"{name:{width}}", f"{update:8d}", *cells]))
    return lines
