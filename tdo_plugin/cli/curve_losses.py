"""`tdo curve losses`: losses of several trainings over updates, as a table and a figure."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.cli.curve_lines import curve_table, named_paths
from tdo_plugin.errors import UserError

HELP = "plot losses of several trainings over updates"
EXAMPLE = "tdo curve losses baseline=my-baseline tdo=my-model --out losses.svg"

WHAT = "NAME=SAVE_DIR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "trainings",
        nargs="+",
        metavar=f"{WHAT}[:SAVE_DIR]",
        help="a line's name and the checkpoint folder of its training run, or several folders of "
        "consecutive training runs",
    )
    add(
        "--subset",
        default="valid",
        metavar="NAME",
        help="validation set, or training for the loss on the training batches, at most 500 points "
        "of each run (default: %(default)s)",
    )
    add(
        "--metrics",
        default="nll_loss",
        metavar="M,M",
        help="nll_loss (cross-entropy, the same measure for all systems), loss (with label "
        "smoothing), or both, in bits for each token (default: %(default)s)",
    )
    add("--out", type=Path, metavar="FILE", help="also draw a figure: .svg, .png (with matplotlib)")
    add("--no-figures", action="store_true", help="numbers only, no matplotlib")


def run(args: argparse.Namespace) -> int:
    """Print the losses, and draw them."""
    from tdo_plugin.analysis.curves import NAMES, curve_figure
    from tdo_plugin.analysis.figure_files import check, save
    from tdo_plugin.recording.logged_values import LOSSES
    from tdo_plugin.recording.training_folder import read_loss_curve

    metrics = args.metrics.split(",")
    if unknown := [name for name in metrics if name not in LOSSES]:
        raise UserError(f"`--metrics` must be among {', '.join(LOSSES)}; it has {unknown[0]}")
    out = None if args.no_figures else args.out
    if out:
        check(out, "--out")
    named = named_paths(args.trainings, WHAT)
    curves = {name: read_loss_curve(folders, args.subset) for name, folders in named.items()}
    print(curve_table(curves, metrics, NAMES, digits=3))
    if out:
        save(curve_figure(curves, metrics, f"losses, {args.subset}", from_zero=False), out)
        print(out.resolve())
    return 0
