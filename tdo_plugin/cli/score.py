"""`tdo score`: score systems' hypotheses and test significance, in one score sheet."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.score_groups import groups_of
from tdo_plugin.cli.score_options import add_measures, add_reference, check_measures
from tdo_plugin.cli.score_systems import data_of, score_systems, tell_remarks
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.protocols import protocol

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.score_sheet import ScoreSheet

HELP = "score hypotheses: BLEU, chrF++, TER, BERTScore, COMET, off-target rates, significance"
EXAMPLE = "tdo score tdo=my-output --data my-data --out my-report"

SHEET = "scores.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "systems",
        nargs="*",
        metavar="NAME=DIR",
        help="a system and its folder with SRC-TGT.hyp, and .ref and .src unless --data has them; "
        "NAME may be repeated with another folder for more directions; systems called `NAME, seed "
        "1`, `NAME, seed 2`, ... get mean and spread in `tdo report`",
    )
    add("--out", type=Path, required=True, metavar="DIR", help="folder for scores.json")
    add(
        "--examples",
        type=int,
        default=5,
        metavar="N",
        help="example sentences per direction: N on which systems differ most, and a random "
        "sample of N (default 5)",
    )
    files = parser.add_argument_group("one direction from single files")
    files.add_argument("--hyp", type=Path, metavar="FILE", help="hypotheses, one per line")
    add_reference(files)
    add_measures(parser)


def run(args: argparse.Namespace) -> int:
    """Score the systems and write the sheet; returns 1 if a requested score is missing."""
    from tdo_plugin.evaluation.systems import read_systems, single_system

    _check_single(args)
    check_measures(args)
    data = data_of(args)
    if args.validations:
        return _validations(args, data)
    failures: list[str] = []
    if args.hyp or args.ref:
        systems = [single_system(args.hyp, args.ref, args.src, args.source_lang, args.target_lang)]
    else:
        systems = read_systems(args.systems, args.directions, data, failures)
    sheet = score_systems(args, systems, data, failures, args.out)
    tell_remarks(sheet)
    _write(args.out, sheet)
    return 1 if sheet.failures or sheet.missing else 0


def _check_single(args: argparse.Namespace) -> None:
    single = ("hyp", "ref", "src", "source_lang", "target_lang")
    options = [option for option in single if getattr(args, option)]
    measuring = ("directions", "protocol", "metrics", "tokenizer", "lid", "baseline")
    for option in (*options, *(name for name in measuring if getattr(args, name))):
        if args.validations:
            name = option.replace("_", "-")
            raise UserError(f"`--{name}` must be left out with --validations; both are given")
    if options and (args.systems or args.directions):
        alternative = "NAME=DIR" if args.systems else "--directions"
        name = options[0].replace("_", "-")
        raise UserError(f"`--{name}` must be left out with {alternative}; both are given")


def _validations(args: argparse.Namespace, data: DataFolder | None) -> int:
    """Write the score sheet of the last validations of training runs."""
    from tdo_plugin.evaluation.systems import named_folders
    from tdo_plugin.evaluation.validated import validation_sheet

    sheet = validation_sheet(
        named_folders(args.systems),
        lambda directions: groups_of(args, protocol(None), data, list(directions)),
    )
    _write(args.out, sheet)
    return 0


def _write(out: Path, sheet: ScoreSheet) -> None:
    from tdo_plugin.evaluation.score_sheet import as_json
    from tdo_plugin.runtime.files import write_text
    from tdo_plugin.runtime.provenance import made_by

    sheet = replace(sheet, made_by=made_by(shlex.join(["tdo", *sys.argv[1:]])))
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / SHEET, [json.dumps(as_json(sheet), ensure_ascii=False, indent=1)])
    print((out / SHEET).resolve(), flush=True)
