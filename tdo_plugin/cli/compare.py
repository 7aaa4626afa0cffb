"""`tdo compare`: significance tests between systems by paired bootstrap resampling."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import did_you_mean
from tdo_plugin.cli.score_options import add_measures, add_reference, check_measures
from tdo_plugin.cli.score_systems import data_of, score_systems, tell_remarks
from tdo_plugin.errors import UserError
from tdo_plugin.names import check_titles

if TYPE_CHECKING:
    from tdo_plugin.evaluation.score_sheet import ScoreSheet
    from tdo_plugin.evaluation.systems import SystemTexts

HELP = "test differences between systems by paired bootstrap: intervals and p-values by group"
EXAMPLE = "tdo compare prefix=prefix-output tdo=my-output --data my-data"

OF_SHEETS = ("help", "systems", "scores")  # options allowed with --scores


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "systems",
        nargs="*",
        metavar="SYSTEM",
        help="two or more systems: NAME=DIR as in `tdo score`; with --ref, [NAME=]FILE of "
        "hypotheses; with --scores, names (default: all). Each is compared with the first, or with "
        "--baseline",
    )
    parser.add_argument(
        "--scores",
        type=Path,
        metavar="FILE",
        help="scores.json of `tdo score`: show its comparisons instead of scoring again",
    )
    add_reference(parser.add_argument_group("one direction from single files"))
    add_measures(parser)
    parser.set_defaults(examples=0, declared=tuple(parser._actions))


def run(args: argparse.Namespace) -> int:
    """Print a table of differences; returns 1 if a requested score is missing."""
    from tdo_plugin.evaluation.report.notes import below
    from tdo_plugin.evaluation.report.report_tables import differences
    from tdo_plugin.evaluation.report.text_tables import terminal

    sheet = _of_sheet(args) if args.scores else _measured(args)
    tell_remarks(sheet)
    table = differences(sheet)
    if table is None:
        raise UserError("`SYSTEM` must have directions in common with the baseline; it has none")
    width = shutil.get_terminal_size((100, 24)).columns
    print(terminal(table, width, bold=False), "", *below(sheet, table), sep="\n")
    return 1 if sheet.failures or sheet.missing else 0


def _measured(args: argparse.Namespace) -> ScoreSheet:
    from tdo_plugin.evaluation.systems import read_systems

    if len(args.systems) < 2:
        raise UserError(
            f"`SYSTEM` must be given twice or more; it is given {len(args.systems)} times"
        )
    check_measures(args)
    if not args.samples:
        raise UserError("`--samples` must be at least 1 for a comparison; it is 0")
    for option in ("src", "source_lang", "target_lang"):
        if getattr(args, option) and not args.ref:
            raise UserError(f"`--{option.replace('_', '-')}` must come with --ref; it does not")
    data = data_of(args)
    failures: list[str] = []
    if args.ref:
        systems = _from_files(args)
    else:
        systems = read_systems(args.systems, args.directions, data, failures)
    return score_systems(args, systems, data, failures)


def _from_files(args: argparse.Namespace) -> list[SystemTexts]:
    from tdo_plugin.evaluation.systems import single_system

    if args.directions:
        raise UserError(f"`--directions` must be left out with --ref; it is {args.directions}")
    systems = []
    for text in args.systems:
        name, mark, file = text.rpartition("=")
        path = Path(file)
        if not path.is_file():
            raise UserError(f"`SYSTEM` must be [NAME=]FILE with --ref; {path} is not a file")
        system = single_system(path, args.ref, args.src, args.source_lang, args.target_lang)
        systems.append(replace(system, name=name) if mark else system)
    names = [system.name for system in systems]
    check_titles(names, "`SYSTEM`")
    if twice := {name for name in names if names.count(name) > 1}:
        raise UserError(f"`SYSTEM` must be NAME=FILE if names repeat; {min(twice)} does")
    return systems


def _of_sheet(args: argparse.Namespace) -> ScoreSheet:
    """A score sheet with only the comparisons between these systems."""
    from tdo_plugin.evaluation.sheet_reading import read_sheet

    for action in args.declared:
        if action.dest not in OF_SHEETS and getattr(args, action.dest, None) != action.default:
            raise UserError(
                f"`{action.option_strings[-1]}` must be left out with --scores, which measures "
                "nothing; it is given"
            )
    sheet = read_sheet(args.scores)
    names = [system.name for system in sheet.systems]
    for name in args.systems:
        if name not in names:
            guess = did_you_mean(name, names)
            raise UserError(f"`SYSTEM` must be one of {', '.join(names)}; it is {name}{guess}")
    chosen = set(args.systems or names)
    comparisons = tuple(
        comparison
        for comparison in sheet.comparisons
        if {comparison.system, comparison.baseline} <= chosen
    )
    if not comparisons:
        raise UserError(
            f"`SYSTEM` must be systems that {args.scores} compares, including its baseline; it "
            f"compares {_pairs(sheet) or 'none'}"
        )
    return replace(sheet, comparisons=comparisons)


def _pairs(sheet: ScoreSheet) -> str:
    pairs = (f"{comparison.system} with {comparison.baseline}" for comparison in sheet.comparisons)
    return ", ".join(dict.fromkeys(pairs))
