"""Options of commands that pass all further options to a fairseq command."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tdo_plugin.errors import UserError
from tdo_plugin.launch.gpus import count_gpus
from tdo_plugin.launch.parser import RaisingParser
from tdo_plugin.launch.training_config import PRECISIONS, Config


def take_rest(parser: argparse.ArgumentParser, program: str) -> None:
    """Collect everything after the positional arguments, for `own_and_stock`."""
    parser.add_argument(
        "rest",
        nargs=argparse.REMAINDER,
        metavar="...",
        help=f"options of this command, and any flags of {program}, which are passed on unchanged",
    )


def own_and_stock(
    args: argparse.Namespace, declare: Callable[[argparse.ArgumentParser], None]
) -> list[str]:
    """Parse the command's own options in `args.rest` into `args`; returns the remaining words.

    Raises:
        UserError: one of the command's own options has an invalid value.
    """

    parser = RaisingParser(add_help=False, allow_abbrev=False)
    declare(parser)
    _, stock = parser.parse_known_args([w for w in args.rest if w != "--"], namespace=args)
    return stock


def take_unknown(
    parser: argparse.ArgumentParser, where: Callable[[argparse.Namespace], bool]
) -> None:
    """Collect unknown options in `args.rest` if `where(args)` is true."""
    parser.hands_on = where  # type: ignore[attr-defined]  # an attribute of our `Parser`
    parser.set_defaults(rest=[])


def device_options(parser: argparse.ArgumentParser, several: bool = True) -> None:
    """Declare the device options; without `several`, the command uses at most one GPU."""
    add = parser.add_argument
    much = "number of GPUs to use on this machine (default: all)"
    single_gpu = "0 for the CPU; otherwise one GPU is used (default: a GPU if available)"
    add("--gpus", type=int, metavar="N", help=much if several else single_gpu)
    add("--cpu", action="store_true", help="use the CPU even if a GPU is available")


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Declare the device options and the number format."""
    device_options(parser)
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="number format (default: the config's on a GPU, fp32 on a CPU)",
    )


def slurm_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare `--slurm`, with `what` as its help, and options for sbatch."""
    parser.add_argument("--slurm", action="store_true", help=what)
    parser.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="OPTION",
        help="a further option of sbatch, such as --sbatch=--time=24:00:00; repeatable",
    )


def check_sbatch(args: argparse.Namespace) -> None:
    """Raise UserError for options of sbatch without `--slurm`."""
    if args.sbatch and not args.slurm:
        raise UserError(f"`--sbatch` must be left out without --slurm; it is {args.sbatch[0]}")


def gpus_here(args: argparse.Namespace) -> int:
    """The number of GPUs to use, by `--cpu` or `--gpus`, else all of this machine.

    Raises:
        UserError: both options are given, or a negative number, or more GPUs than there are
            (except for another machine: with `--slurm`, or only to print commands).
    """
    if args.cpu and args.gpus:
        raise UserError(f"`--gpus` must be left out with --cpu; it is {args.gpus}")
    if args.gpus is not None and args.gpus < 0:
        raise UserError(f"`--gpus` must be at least 0; it is {args.gpus}")
    if args.cpu:
        return 0
    if args.gpus is None:
        return count_gpus()
    elsewhere = getattr(args, "slurm", False) or getattr(args, "dry_run", False)
    if args.gpus and not elsewhere and args.gpus > (there := count_gpus()):
        raise UserError(
            f"`--gpus` must be at most {there}, the GPUs of this machine; it is {args.gpus}"
        )
    return int(args.gpus)


def precision_here(args: argparse.Namespace, config: Config, gpus: int) -> str:
    """The number format: `--precision`, else the config's on a GPU and fp32 on the CPU.

    Raises:
        UserError: fp16 on the CPU.
    """
    if gpus:
        return args.precision or config.precision
    if args.precision == "fp16":
        raise UserError(
            "`--precision` must be fp32 or bf16 on the CPU; it is fp16 (fairseq's own --fp16 is "
            "passed on)"
        )
    return args.precision or "fp32"
