"""`tdo analyze`: pictures and tables of trained models, and of what was measured before."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from tdo_plugin.cli import (
    analyze_allocation,
    analyze_importance,
    analyze_preference,
    analyze_sweep,
)
from tdo_plugin.errors import UserError

HELP = "draw what is known of neurons, which language states prefer, or scores over a choice"
NEURONS = "importance and allocation (neuron allocation paper)"

PARTS = {
    "importance": analyze_importance,
    "allocation": analyze_allocation,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be analysed, and the options."""
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    neurons = what.add_parser("neurons", help=NEURONS, description=NEURONS)
    parts = neurons.add_subparsers(dest="part", metavar="PART", required=True)
    for name, module in PARTS.items():
        _declare(parts, name, module)
    _declare(what, "preference", analyze_preference)
    _declare(what, "sweep", analyze_sweep)


def _declare(parent: Any, name: str, module: ModuleType) -> None:
    """Declare an analysis, with what all of them have."""
    parser = parent.add_parser(name, help=module.HELP, description=module.HELP)
    module.add_arguments(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for figures and numbers"
    )
    parser.add_argument("--no-figures", action="store_true", help="numbers only, no matplotlib")
    parser.set_defaults(analyze=module.run)


def run(args: argparse.Namespace) -> int:
    """Print tables, and write figures and numbers to the folder."""
    from tdo_plugin.analysis.figure_files import check
    from tdo_plugin.cli.analyze_output import show, write
    from tdo_plugin.runtime.lock import alone

    out = args.out.resolve()
    # said before all is computed; the lock is taken when there is something to write
    existing = next(path for path in (out, *out.parents) if path.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        raise UserError(f"`--out` must be a folder to write to; {args.out} is none")
    if not args.no_figures:
        check(args.out / "figure.png", "--out")
    analysis = args.analyze(args)
    show(analysis)
    with alone(out):
        for path in write(analysis, out, not args.no_figures):
            print(path, flush=True)
    return 0
