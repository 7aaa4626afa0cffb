"""`tdo analyze`: pictures and tables of what was measured before."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.cli import analyze_allocation, analyze_importance, analyze_sweep

HELP = "draw what is known of a model's neurons, or how scores depend on a choice"
NEURONS = "importance, allocation, and scores over what was chosen (neuron allocation paper)"

PARTS = {
    "importance": analyze_importance,
    "allocation": analyze_allocation,
    "sweep": analyze_sweep,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be analysed, and the options."""
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    neurons = what.add_parser("neurons", help=NEURONS, description=NEURONS)
    parts = neurons.add_subparsers(dest="part", metavar="PART", required=True)
    for name, module in PARTS.items():
        part = parts.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(part)
        part.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="folder for figures and numbers"
        )
        part.add_argument(
            "--no-figures", action="store_true", help="numbers only, without matplotlib"
        )
        part.set_defaults(analyze=module.run)


def run(args: argparse.Namespace) -> int:
    """Print tables, and write figures and numbers to the folder."""
    from tdo_plugin.analysis.drawing import check
    from tdo_plugin.cli.analyze_output import show, write
    from tdo_plugin.data.lock import alone

    if not args.no_figures:
        check(args.out / "figure.png", "--out")
    found = args.analyze(args)
    out = args.out.resolve()
    with alone(out):
        show(found)
        for path in write(found, out, not args.no_figures):
            print(path, flush=True)
    return 0
