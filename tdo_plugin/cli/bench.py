"""`tdo bench`: compare speed and memory with two baselines, or half with single precision."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tdo_compat.errors import tell
from tdo_plugin.cli.decoding import MODEL
from tdo_plugin.cli.output_file import check_has_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import resolve_one
from tdo_plugin.installation import FILES
from tdo_plugin.launch.training_config import PRECISIONS
from tdo_plugin.runtime.signals import ended_by_signal

HELP = "compare speed and memory with stock fairseq, or half precision with single precision"
EXAMPLE = """
tdo bench --device cpu --data my-data --json bench.json
tdo bench train --device cpu --json training.json
tdo bench decode --against ctranslate2 --json engines.json
tdo bench half-precision --path runs/mine --data my-data
"""

BENCHMARKS = FILES / "benchmarks"
HALF = "half-precision"
INSTEAD = ("--each", "--growth", "--roofline", "--against")

# what is measured, and what would have no effect on it
UNREAD = {
    HALF: ("--precision", "--rounds", *INSTEAD, "--cpu-time", "--plot"),
    "decode": ("--roofline",),
    "memory": ("--roofline", "--rounds", "--cpu-time"),
    "--against": ("--device cuda", "--plot"),
    "--roofline": ("--device cuda", "--rounds", "--cpu-time", "--plot"),
    "--each": ("--plot",),
    "--path": ("--size", "--options"),  # the checkpoint's model has both
}
# what is given (the last is named in the message), and what it needs, one of them
NEEDED = (
    (("--path",), (HALF,)),
    (("--path",), ("--data",)),
    (("--against",), ("decode",)),
    (("--cpu-time",), ("--device cpu", "--against")),
    (("decode", "--plot"), ("--growth",)),
    (("memory", "--plot"), ("--growth",)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_measurements(parser)
    _add_conditions(parser)


def _add_measurements(parser: argparse.ArgumentParser) -> None:
    """What is measured."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=("train", "memory", "decode", HALF),
        help="train, memory, decode: only these comparisons (default: all three); memory: of a "
        "model alone and, on a CPU, of a training's processes; half-precision: fp16 and bf16 "
        "against fp32, layer by layer: rounding errors, and how near activations and gradients "
        "come to fp16's limits",
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


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    """With which model, on which machine and text, and what is written."""
    add = parser.add_argument
    add(
        "--path",
        metavar="MODEL",
        help=f"with half-precision: {MODEL}, and the losses of its training on the validation "
        "sets of --data (default: random weights with the sizes of --size and --options)",
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
    check_has_folder(args.json, "--json")
    check_has_folder(args.plot, "--plot")
    _check_combination(args)
    if args.plot:
        check(args.plot)
    if args.path is not None:
        args.path = resolve_one(args.path, None, tell, "--path")
    sys.path.insert(0, str(BENCHMARKS))
    from speed.command import bench

    with ended_by_signal():
        code: int = bench(args)
        return code


def _check_combination(args: argparse.Namespace) -> None:
    given = {*_given(args)}
    for measured, unread in UNREAD.items():
        for option in unread:
            if given.issuperset((measured, option)):
                raise UserError(f"`{option}` must be left out with {measured}; it is given")
    for options, needed in NEEDED:
        if given.issuperset(options) and given.isdisjoint(needed):
            raise UserError(f"`{options[-1]}` must come with {' or '.join(needed)}; it is alone")


def _given(args: argparse.Namespace) -> Iterator[str]:
    """The positional argument, and options without and with their value, unless default."""
    defaults = argparse.ArgumentParser()
    add_arguments(defaults)
    for name, value in vars(args).items():
        if value != defaults.get_default(name):
            option = f"--{name.replace('_', '-')}"
            yield from (value,) if name == "what" else (option, f"{option} {value}")
