"""Commands that take options of their own and hand all others on to a fairseq command."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tdo_plugin.errors import UserError
from tdo_plugin.launch.gpus import count_gpus
from tdo_plugin.launch.parser import RaisingParser
from tdo_plugin.launch.training_config import PRECISIONS, Config


def take_rest(parser: argparse.ArgumentParser, program: str) -> None:
    """Let everything behind the positional arguments reach `own_and_stock`."""
    parser.add_argument(
        "rest",
        nargs=argparse.REMAINDER,
        metavar="...",
        help=f"options as above, and any flags of {program}, which are handed on as they are",
    )


def own_and_stock(
    args: argparse.Namespace, declare: Callable[[argparse.ArgumentParser], None]
) -> list[str]:
    """Read the command's own options out of `args.rest` into `args` and return what is left.

    Raises:
        UserError: an option of the command's own has a wrong value.
    """

    parser = RaisingParser(add_help=False, allow_abbrev=False)
    declare(parser)
    _, stock = parser.parse_known_args([w for w in args.rest if w != "--"], namespace=args)
    return stock


def take_unknown(
    parser: argparse.ArgumentParser, where: Callable[[argparse.Namespace], bool]
) -> None:
    """Let `args.rest` have what is no option of the command, `where` its options say so."""
    parser.hands_on = where  # type: ignore[attr-defined]  # of our own class of parsers
    parser.set_defaults(rest=[])


def device_options(parser: argparse.ArgumentParser, several: bool = True) -> None:
    """Declare where to compute; a command for which one GPU is enough takes no more."""
    add = parser.add_argument
    much = "GPUs of this machine to use (default: all)"
    single_gpu = "0 for the CPU, else one GPU is used (default: that, where there is one)"
    add("--gpus", type=int, metavar="N", help=much if several else single_gpu)
    add("--cpu", action="store_true", help="compute on the CPU, though there is a GPU")


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Declare where to compute, and in which number format."""
    device_options(parser)
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="number format (default: on a GPU the config's, on a CPU fp32)",
    )


def slurm_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare `--slurm`, which does what is said, and options for sbatch."""
    parser.add_argument("--slurm", action="store_true", help=what)
    parser.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="OPTION",
        help="a further option of sbatch, as --sbatch=--time=24:00:00; may be repeated",
    )


def check_sbatch(args: argparse.Namespace) -> None:
    """Raise UserError where there are options for sbatch, and nothing is submitted."""
    if args.sbatch and not args.slurm:
        raise UserError(f"`--sbatch` must be left out without --slurm; it is {args.sbatch[0]}")


def gpus_here(args: argparse.Namespace) -> int:
    """GPUs to use: what `--cpu` or `--gpus` says, else all of this machine.

    Raises:
        UserError: both are given, or a negative number.
    """
    if args.cpu and args.gpus:
        raise UserError(f"`--gpus` must be left out with --cpu; it is {args.gpus}")
    if args.gpus is not None and args.gpus < 0:
        raise UserError(f"`--gpus` must be at least 0; it is {args.gpus}")
    if args.cpu or args.gpus is not None:
        return 0 if args.cpu else args.gpus
    return count_gpus()


def precision_here(args: argparse.Namespace, config: Config, gpus: int) -> str:
    """The number format: what `--precision` says, else the config's; on the CPU else fp32.

    Raises:
        UserError: fp16 is asked for on the CPU.
    """
    if gpus:
        return args.precision or config.precision
    if args.precision == "fp16":
        raise UserError(
            "`--precision` must be fp32 or bf16 on the CPU; it is fp16 (fairseq's own --fp16 is "
            "handed on)"
        )
    return args.precision or "fp32"
