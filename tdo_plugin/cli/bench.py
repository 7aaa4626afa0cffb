"""`tdo bench`: speed and memory against two baselines, on this machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.installation import FILES
from tdo_plugin.launch.training_config import PRECISIONS
from tdo_plugin.runtime.signals import ended_by_signal

HELP = "measure speed and memory against stock fairseq and a plain concatenating model"
EXAMPLE = "tdo bench --device cpu --data my-data --json bench.json"

BENCHMARKS = FILES / "benchmarks"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("--device", choices=("cpu", "cuda"), help="where to compute (default: a GPU if there is)")
    add(
        "--precision",
        choices=PRECISIONS,
        help="number format on a GPU (default: bf16, or fp16 on a GPU without it)",
    )
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="take the table's sentences from this text folder or data folder, such as Multi30k of "
        "`tdo prepare` (default: the embedded corpus)",
    )
    add("--rounds", type=int, metavar="N", help="turns of each system (default 5, of growth 3)")
    add(
        "--size",
        choices=("paper", "small"),
        default="paper",
        help="6 + 6 layers of width 512 (default), or models to try the command with",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--each",
        action="store_true",
        help="instead: what each faster way of our own system brings, against itself without it",
    )
    instead.add_argument(
        "--growth",
        action="store_true",
        help="instead: how time and memory grow with languages, depth, vocabulary, length and beam",
    )
    add(
        "--options",
        default="",
        metavar="'--X ...'",
        help="more options of fairseq-train, for our own system (--options='--X')",
    )
    add("--json", type=Path, metavar="FILE", help="write the rows")
    add("--plot", type=Path, metavar="FILE", help="draw how cost grows: .svg, .png")


def run(args: argparse.Namespace) -> int:
    """Check the options, then leave it to the benchmark, which is beside the package."""
    from tdo_plugin.analysis.figure_files import check

    if args.rounds is not None and args.rounds < 1:
        raise UserError(f"`--rounds` must be at least 1; it is {args.rounds}")
    for option, path in (("--json", args.json), ("--plot", args.plot)):
        if path and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise UserError(f"`{option}` must be a file in a folder that is there; it is {path}")
    if args.plot:
        if args.each:
            raise UserError("`--plot` must be left out with --each, which has nothing to draw")
        check(args.plot)
    sys.path.insert(0, str(BENCHMARKS))
    from speed.command import bench

    with ended_by_signal():
        code: int = bench(args)
        return code
