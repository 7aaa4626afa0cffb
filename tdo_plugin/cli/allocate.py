"""`tdo neurons allocate`: divide neurons into general ones and those specific to some pairs."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.cli.output_file import check_has_folder, check_output, make_folder
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.analysis.neurons.allocation import Summary
    from tdo_plugin.evaluation.report.table import Table
    from tdo_plugin.neuron_files import Importance

HELP = "divide a model's neurons into general and language-specific ones"
EXAMPLE = "tdo neurons allocate importance --general 0.9 --threshold 0.7 --out masks"

NAMED = 4  # most names in a warning; the rest is only counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="output of `tdo neurons importance`")
    add(
        "--general",
        type=float,
        default=0.9,
        metavar="RHO",
        help="share of each module's neurons that are general, used by all pairs (default 0.9)",
    )
    add(
        "--threshold",
        type=float,
        default=0.7,
        metavar="K",
        help="give each other neuron to the pairs where its importance is at least K times its "
        "maximum over the pairs (default 0.7)",
    )
    add(
        "--by",
        # same as analysis.neurons.allocation.WAYS, whose import would load torch
        choices=("pair", "source", "target", "separate"),
        default="pair",
        help="allocate neurons to language pairs, source languages or target languages; separate: "
        "to source languages in layers that only the source passes, else to target languages "
        "(default: pair)",
    )
    add(
        "--relative",
        action="store_true",
        help="first divide each pair's importance by its mean over the module, so that pairs with "
        "small losses, and thus small gradients, also get neurons; not in the paper",
    )
    add("--pairs", metavar="P,P", help="allocate only to these pairs (default: all in FILE)")
    add("--out", type=Path, required=True, metavar="MASKS", help="the mask file to write")
    add("--fresh", action="store_true", help="overwrite MASKS if it exists")
    add("--json", type=Path, metavar="FILE", help="also write the summary as JSON")


def run(args: argparse.Namespace) -> int:
    """Allocate the neurons, write the masks, and print a summary."""
    from tdo_plugin.analysis.neurons.allocation import allocate, chosen, relative, summarize
    from tdo_plugin.evaluation.report.text_tables import terminal
    from tdo_plugin.neuron_files import Importance, Masks
    from tdo_plugin.runtime.files import write_text
    from tdo_plugin.runtime.provenance import made_by

    _check(args)
    check_output(args.out, args.fresh, "--out")
    importance = Importance.read(args.file)
    if args.pairs:
        importance = chosen(importance, wanted_pairs(args.pairs, importance))
    compared = relative(importance) if args.relative else importance
    modules, general = allocate(compared, args.general, args.threshold, args.by)
    command = made_by(shlex.join(["tdo", *sys.argv[1:]]))
    settings = {
        "general": args.general,
        "threshold": args.threshold,
        "by": args.by,
        "relative": args.relative,
        "method": importance.method,
        "inner": importance.inner,
        "importance": importance.digest,
    }
    masks = Masks(
        importance.pairs, modules, general, importance.checkpoint, {**settings, **command}
    )
    make_folder(args.out, "--out")
    masks.write(args.out)
    summary = summarize(masks, args.by, importance.sides)
    for line in _warnings(summary):
        tell(f"tdo neurons allocate: warning: {line}")
    width = shutil.get_terminal_size((100, 24)).columns
    print(*_totals(summary), "", terminal(_table(summary), width, bold=False), "", sep="\n")
    print(f"written: {args.out}")
    if args.json:
        record = {"settings": settings, **asdict(summary), **command}
        write_text(args.json, [json.dumps(record, indent=1, ensure_ascii=False)])
        print(args.json.resolve())
    return 0


def _check(args: argparse.Namespace) -> None:
    for option in ("general", "threshold"):
        value = getattr(args, option)
        if not 0 <= value <= 1:
            raise UserError(f"`--{option}` must be from 0 to 1; it is {value:g}")
    check_has_folder(args.json, "--json")
    taken = {args.file.resolve(): "FILE"}
    for option, path in (("--out", args.out), ("--json", args.json)):
        if path and (name := taken.setdefault(path.resolve(), option)) != option:
            raise UserError(f"`{option}` must be a different file from {name}; it is {path}")


def wanted_pairs(text: str, importance: Importance) -> list[str]:
    """The pairs that `--pairs` names.

    Raises:
        UserError: a pair is not in the importance file.
    """
    pairs = [pair.strip() for pair in text.split(",")]
    if unknown := [pair for pair in pairs if pair not in importance.pairs]:
        raise UserError(
            f"`--pairs` must be among {', '.join(importance.pairs)}; it has "
            f"{unknown[0] or 'an empty name'}"
        )
    return pairs


def _totals(summary: Summary) -> list[str]:
    lines = [
        f"{summary.neurons:,} neurons in {summary.modules} modules: {summary.general:,} general, "
        f"{summary.specific:,} specific"
    ]
    if summary.groups is not None:
        lines.append(f"each specific neuron belongs to {summary.groups:.2f} groups on average")
    return lines


def _table(summary: Summary) -> Table:
    from tdo_plugin.evaluation.report.table import Block, Cell, Column, Row, Table, number

    names = ("specific", "alone", "of all neurons, %", "modules without specific")
    rows = [
        Row(
            (pair,),
            (
                Cell(f"{counts.specific:,}"),
                Cell(f"{counts.alone:,}"),
                Cell(number(100 * counts.share, 1)),
                Cell(str(counts.without_specific)),
            ),
        )
        for pair, counts in summary.pairs.items()
    ]
    columns = tuple(Column("", name) for name in names)
    return Table("allocation", "", ("pair",), columns, (Block(tuple(rows)),))


def _warnings(summary: Summary) -> list[str]:
    silent = [
        f"{pair} in {name}" for pair, counts in summary.pairs.items() for name in counts.without_any
    ]
    poor = [pair for pair, counts in summary.pairs.items() if not counts.specific]
    lines = []
    if silent:
        lines.append(f"no neuron at all: {_some(silent)}")
    if poor:
        lines.append(f"no specific neuron in any module: {_some(poor)}")
    return lines


def _some(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
