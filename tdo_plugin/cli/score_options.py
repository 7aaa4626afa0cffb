"""The options that `tdo score` and `tdo compare` share: what is scored, and how."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.protocols import PROTOCOLS
from tdo_plugin.evaluation.score_sheet import METRICS

MOST_SAMPLES = 10**6  # resamples are kept in memory, four bytes a sentence


def add_reference(files: argparse._ArgumentGroup) -> None:
    """Declare what single files of hypotheses are scored against."""
    add = files.add_argument
    add("--ref", type=Path, metavar="FILE", help="references")
    add("--src", type=Path, metavar="FILE", help="sources, which COMET needs")
    add("-s", "--source-lang", metavar="LANG", help="language of the source")
    add("-t", "--target-lang", metavar="LANG", help="language of the target")


def add_measures(parser: argparse.ArgumentParser) -> None:
    """Declare what is scored, and how, for all that score."""
    add = parser.add_argument
    add("--data", type=Path, metavar="DATA", help="the data folder that was decoded")
    add(
        "--validations",
        action="store_true",
        help="each DIR is a training's --save-dir: take what its last validation translated "
        "(--eval-translation), with --data and --group alone",
    )
    add(
        "--directions",
        metavar="D",
        help="all, supervised, zero-shot (with --data), a list such as en-de,de-fr, or patterns "
        "such as en-*, of what is there (default: all that the systems have)",
    )
    _measures(parser.add_argument_group("metrics"))
    _aggregates(parser.add_argument_group("groups and significance"))
    add(
        "--workers",
        type=int,
        metavar="N",
        help="processes for everything but neural metrics (default: one a core)",
    )


def _measures(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--protocol",
        choices=tuple(PROTOCOLS),
        help="measure as this paper does; options that are given as well win",
    )
    add(
        "--metrics",
        metavar="M",
        help=f"all, or a list of {','.join(METRICS)} (default: the protocol's, or bleu,chrf,off)",
    )
    add(
        "--tokenizer",
        metavar="T",
        help="of BLEU and TER: language (by the target), zh-ja-ko (by the target for these, else "
        "13a), moses, or one of SacreBLEU's",
    )
    add(
        "--lowercase",
        action=argparse.BooleanOptionalAction,
        help="ignore case (default: as the protocol and the data folder say)",
    )
    add(
        "--lid",
        metavar="DETECTOR",
        help="fasttext (lid.176), langdetect, a fastText model file, corpus (learnt from --data), "
        "or references (learnt from those); default: lid.176 where it is found, else corpus, else "
        "references",
    )
    add("--bertscore-model", metavar="MODEL", help="name or folder, for all languages")
    add("--bertscore-layer", type=int, metavar="N", help="its layer; a folder needs one")
    add("--comet-model", metavar="MODEL", help="name, checkpoint or folder")
    add("--cache", type=Path, metavar="FILE", help="where neural scores are kept")
    add(
        "--download",
        action="store_true",
        help="fetch the models of metrics and detector that are not on this machine",
    )


def _aggregates(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--hub", metavar="LANG", help="the language of en → X and X → en (default: the data's, en)")
    add(
        "--supervised",
        metavar="D",
        help="the directions that were trained, without --data: a list, others are zero-shot",
    )
    add(
        "--group",
        action="append",
        default=[],
        metavar="NAME=P,...",
        help="a group by patterns of directions such as *-fr,de-*; or @FILE, JSON",
    )
    add("--families", action="store_true", help="group by language family too")
    add("--sizes", action="store_true", help="group by training size too (High, Medium, Low)")
    add(
        "--size-bounds",
        metavar="HIGH,MEDIUM",
        help="sentence pairs from which on a direction is High, and Medium (default "
        "900000,100000); with --sizes or a protocol that has these groups",
    )
    add("--baseline", metavar="NAME", help="the system to compare with (default: the first)")
    add(
        "--samples",
        type=int,
        default=1000,
        metavar="N",
        help="resamples of the paired bootstrap (default 1000; 0: none)",
    )


def check_measures(args: argparse.Namespace) -> None:
    """Raise UserError where a number or a tokenizer cannot be."""
    for option in ("samples", "examples"):
        if getattr(args, option) < 0:
            raise UserError(f"`--{option}` must be at least 0; it is {getattr(args, option)}")
    if args.samples > MOST_SAMPLES:
        raise UserError(f"`--samples` must be at most {MOST_SAMPLES:,}; it is {args.samples:,}")
    if args.workers is not None and args.workers < 1:
        raise UserError(f"`--workers` must be at least 1; it is {args.workers}")
    if args.tokenizer:
        from tdo_plugin.metrics.sacrebleu_scores import text_metric

        text_metric("bleu", "en", args.tokenizer)
