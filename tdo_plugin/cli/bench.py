"""`tdo bench`: compare speed and memory with two baselines, or half with single precision."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.installation import FILES
from tdo_plugin.launch.training_config import PRECISIONS
from tdo_plugin.runtime.signals import ended_by_signal

HELP = "compare speed and memory with stock fairseq, or half precision with single precision"
EXAMPLE = """
tdo bench --device cpu --data my-data --json bench.json
tdo bench train --device cpu --json training.json
tdo bench decode --against ctranslate2 --json engines.json
tdo bench half-precision --path runs/mine/checkpoint_best.pt --data my-data
"""

BENCHMARKS = FILES / "benchmarks"
HALF = "half-precision"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "what",
        nargs="?",
        choices=("train", "decode", HALF),
        help="train, decode: only the comparisons of training or decoding (default: both, and "
        "memory); half-precision: fp16 and bf16 against fp32, layer by layer: rounding errors, and "
        "how near activations and gradients come to fp16's limits",
    )
    add(
        "--path",
        type=Path,
        metavar="CHECKPOINT",
        help="with half-precision: this checkpoint, and the losses of its training on the "
        "validation sets of --data (default: random weights with the sizes of --size and "
        "--options)",
    )
    add("--device", choices=("cpu", "cuda"), help="device (default: a GPU if available)")
    add(
        "--precision",
        choices=PRECISIONS,
        help="number format on a GPU (default: bf16, or fp16 if the GPU lacks bf16)",
    )
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="take the sentences from this text folder or data folder, such as Multi30k from "
        "`tdo prepare` (default: the embedded corpus)",
    )
    add(
        "--rounds",
        type=int,
        metavar="N",
        help="interleaved measurements per system (default 5; with --growth 3)",
    )
    add(
        "--size",
        choices=("paper", "small"),
        default="paper",
        help="paper: 6 + 6 layers of width 512 (default); small: small models to try the command",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--each",
        action="store_true",
        help="instead: the gain from each optimisation of our system, by switching it off",
    )
    instead.add_argument(
        "--growth",
        action="store_true",
        help="instead: how time and memory grow with languages, depth, vocabulary, length and beam",
    )
    instead.add_argument(
        "--roofline",
        action="store_true",
        help="instead: the time of each group of operations in an update of ours and of stock's on "
        "a CPU, and the speed of matrix products relative to the machine's peak",
    )
    instead.add_argument(
        "--against",
        choices=("ctranslate2",),
        help="with decode, instead: our encoder-decoder in fp32 and int8 on a CPU, against stock "
        "fairseq and CTranslate2",
    )
    add(
        "--options",
        default="",
        metavar="'--X ...'",
        help="more fairseq-train options for our system (--options='--X')",
    )
    add(
        "--cpu-time",
        action="store_true",
        help="count the CPU time of all threads instead of elapsed time, for a machine with other "
        "work (with --device cpu)",
    )
    add("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    add("--plot", type=Path, metavar="FILE", help="draw the growth of costs: .svg, .png")


def run(args: argparse.Namespace) -> int:
    """Check the options, then run the benchmark, which is beside the package."""
    from tdo_plugin.analysis.figure_files import check

    if args.rounds is not None and args.rounds < 1:
        raise UserError(f"`--rounds` must be at least 1; it is {args.rounds}")
    for option, path in (("--json", args.json), ("--plot", args.plot)):
        if path and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise UserError(f"`{option}` must be a file in an existing folder; it is {path}")
    if args.cpu_time and args.device != "cpu" and not args.against:
        raise UserError("`--cpu-time` must come with --device cpu or --against; it is alone")
    if args.path and args.what != HALF:
        raise UserError(
            "`--path` must come with half-precision (tdo bench half-precision); it is alone"
        )
    if args.what == HALF:
        _check_half_precision(args)
    if args.against:
        if args.what != "decode":
            raise UserError("`--against` must come with decode (tdo bench decode); it is alone")
        if args.device == "cuda":
            raise UserError("`--device` must be cpu with --against; it is cuda")
        if args.plot:
            raise UserError("`--plot` must be left out with --against; it is given")
    if args.roofline:
        if args.what == "decode":
            raise UserError("`--roofline` must be left out with decode; it is given")
        if args.device == "cuda":
            raise UserError("`--device` must be cpu with --roofline; it is cuda")
        given = {"--plot": args.plot, "--rounds": args.rounds, "--cpu-time": args.cpu_time}
        for option in [name for name, value in given.items() if value]:
            raise UserError(f"`{option}` must be left out with --roofline; it is given")
    if args.plot:
        if args.each:
            raise UserError("`--plot` must be left out with --each, which has nothing to draw")
        if args.what == "decode" and not args.growth:
            raise UserError("`--plot` must come with --growth with decode; it is alone")
        check(args.plot)
    sys.path.insert(0, str(BENCHMARKS))
    from speed.command import bench

    with ended_by_signal():
        code: int = bench(args)
        return code


def _check_half_precision(args: argparse.Namespace) -> None:
    unused = ("precision", "rounds", "each", "growth", "roofline", "against", "cpu_time", "plot")
    for name in unused:
        if getattr(args, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"`{option}` must be left out with half-precision; it is given")
    if args.path and not args.data:
        raise UserError("`--data` must be given with --path; it is not")
    if args.path and args.size != "paper":
        raise UserError(
            f"`--size` must be left out with --path, which has its own; it is {args.size}"
        )
    if args.path and args.options:
        raise UserError(
            f"`--options` must be left out with --path, whose model they cannot change; it is "
            f"{args.options}"
        )
