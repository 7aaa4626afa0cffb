"""Options of `tdo reproduce`: for any file, for a run, and those that a file declares."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import check_sbatch, device_options, slurm_options
from tdo_plugin.launch.parser import RaisingParser

if TYPE_CHECKING:
    from tdo_plugin.experiments.document import Document


def file_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that follow any file and its tables."""
    add = parser.add_argument
    add("--rows", metavar="NAME,...", help="only these rows, by name or pattern (default: all)")
    add("--headline", action="store_true", help="only the rows that show the paper's main result")
    add(
        "--seeds", type=int, default=1, metavar="N",
        help="training runs per system, with different seeds; the report shows mean and spread "
        "(default 1)",
    )  # fmt: skip
    add(
        "--gpus-each", type=int, metavar="N",
        help="GPUs per step (default: 1; at scale full, all, except with --slurm)",
    )  # fmt: skip
    slurm_options(parser, "submit each training or computing step as a separate job, and wait")
    add("--estimate", action="store_true", help="only print the GPU hours of the training runs")
    run_options(
        parser,
        scales="such as toy, smoke, multi30k, full (default: the first in the file)",
        place="runs/NAME-SCALE; tables in the same folder share common steps",
    )


def run_options(parser: argparse.ArgumentParser, scales: str, place: str) -> None:
    """Declare the options of any run; the help texts name its scales and default folder."""
    add = parser.add_argument
    add("--scale", metavar="SCALE", help=scales)
    add(
        "--updates", type=int, metavar="N",
        help="updates per training run, at the small scales (default: as in the file)",
    )  # fmt: skip
    add(
        "--out", type=Path, metavar="RUN", help=f"run folder (default: {place})"
    )  # fmt: skip
    add(
        "--jobs", type=int, metavar="N",
        help="steps to run at a time (default: as many as the GPUs allow, 2 on the CPU); with "
        "--slurm, jobs at a time (default 16)",
    )  # fmt: skip
    device_options(parser)
    add("--threads", type=int, metavar="N", help="CPU threads per step (default: equal share)")
    add("--fresh", action="store_true", help="start over (default: keep complete steps)")
    add("--dry-run", action="store_true", help="only print the commands")


def read_options(args: argparse.Namespace, document: Document) -> dict[str, str]:
    """Parse tables and options in `args.rest`; returns the values of the file's own options."""
    parser = RaisingParser(
        prog=f"tdo reproduce {args.experiments}", description=document.title, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_epilog(document),
    )  # fmt: skip
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="tables and figures (see below)")
    file_options(parser)
    own = parser.add_argument_group(f"options of {document.path.name}")
    for name, option in document.options.items():
        listed = f" ({', '.join(option.choices)})" if option.choices else ""
        own.add_argument(f"--{name}", metavar="VALUE", help=f"{option.help}{listed}")
    for name, given_path in document.inputs.items():
        own.add_argument(f"--{name}", metavar="PATH", help=given_path.help)
    parser.parse_intermixed_args(args.rest, namespace=args)
    _at_least_one(args)
    check_sbatch(args)
    if args.slurm and args.gpus is not None:
        raise UserError(
            f"`--gpus` must be left out with --slurm, use --gpus-each; it is {args.gpus}"
        )
    values = {
        name: getattr(args, name.replace("-", "_"))
        for name in (*document.options, *document.inputs)
    }
    return {name: value for name, value in values.items() if value is not None}


def _epilog(document: Document) -> str:
    tables = "\n".join(f"  {name:12} {table.title}" for name, table in document.tables.items())
    scales = "\n".join(
        f"  {name:12} {scale.help}" for name, scale in document.scales.items() if scale.help
    )
    return f"tables:\n{tables}\n\nscales:\n{scales}"


def _at_least_one(args: argparse.Namespace) -> None:
    for option in ("seeds", "jobs", "gpus_each", "threads", "updates"):
        value = getattr(args, option)
        if value is not None and value < 1:
            raise UserError(f"`--{option.replace('_', '-')}` must be at least 1; it is {value}")
