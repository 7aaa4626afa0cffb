"""Options of `tdo reproduce`: of any file, of a run, and those that a file has of its own."""

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
    """Declare the options that stand behind any file and its tables."""
    add = parser.add_argument
    add("--rows", metavar="NAME,...", help="some of the rows, by their names or patterns")
    add("--headline", action="store_true", help="of the rows those that show what the paper found")
    add(
        "--seeds", type=int, default=1, metavar="N",
        help="trainings of each system; the report has means and spreads (default 1)",
    )  # fmt: skip
    add(
        "--gpus-each", type=int, metavar="N",
        help="GPUs of one step (default: 1; at the scale full all, but for --slurm)",
    )  # fmt: skip
    slurm_options(parser, "submit each step that trains or computes as a job of its own, and wait")
    add("--estimate", action="store_true", help="only print the GPU hours of what is to be trained")
    run_options(
        parser,
        scales="toy, smoke, multi30k, full (default: the file's first)",
        place="runs/NAME-SCALE; tables with the same folder share what they have in common",
    )


def run_options(parser: argparse.ArgumentParser, scales: str, place: str) -> None:
    """Declare the options of a run, whatever it makes; help names its scales and usual place."""
    add = parser.add_argument
    add("--scale", metavar="SCALE", help=scales)
    add(
        "--updates", type=int, metavar="N",
        help="updates of a row, at the small scales (default: the file's)",
    )  # fmt: skip
    add(
        "--out", type=Path, metavar="RUN", help=f"where everything goes (default: {place})"
    )  # fmt: skip
    add(
        "--jobs", type=int, metavar="N",
        help="steps at a time (default: as many as have GPUs of their own; on the CPU 2); with "
        "--slurm jobs at a time (default 16)",
    )  # fmt: skip
    device_options(parser)
    add("--threads", type=int, metavar="N", help="CPU threads of a step (default: its share)")
    add("--fresh", action="store_true", help="begin again; else what is whole is not done again")
    add("--dry-run", action="store_true", help="only print the commands")


def read_options(args: argparse.Namespace, document: Document) -> dict[str, str]:
    """Read tables and options out of `args.rest`; what it says of the file's own options."""
    parser = RaisingParser(
        prog=f"tdo reproduce {args.experiments}", description=document.title, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_epilog(document),
    )  # fmt: skip
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="tables and figures; see below")
    file_options(parser)
    own = parser.add_argument_group(f"of {document.path.name}")
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
            f"`--gpus` must be left out with --slurm, where --gpus-each says it; it is {args.gpus}"
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
