"""Commands that show an analysis: tables on the screen, figures and numbers in a folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.cli.analysis_output import Analysis


def analysis_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all analysis commands have."""
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for figures and numbers"
    )
    parser.add_argument("--no-figures", action="store_true", help="numbers only, no matplotlib")


def show_analysis(
    args: argparse.Namespace, analyze: Callable[[argparse.Namespace], Analysis]
) -> int:
    """Run the analysis, print its tables, and write figures and numbers to the folder."""
    from tdo_plugin.analysis.figure_files import check
    from tdo_plugin.cli.analysis_output import show, write
    from tdo_plugin.runtime.lock import alone

    out = args.out.resolve()
    # checked before the computation; the lock is taken only when there is something to write
    existing = next(path for path in (out, *out.parents) if path.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        raise UserError(f"`--out` must be a folder to write to; {args.out} is not")
    if not args.no_figures:
        check(args.out / "figure.png", "--out")
    analysis = analyze(args)
    show(analysis)
    with alone(out):
        for path in write(analysis, out, not args.no_figures):
            print(path, flush=True)
    return 0
