"""The options that `tdo score` and `tdo compare` share."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.protocols import PROTOCOLS
from tdo_plugin.evaluation.score_sheet import METRICS

MOST_SAMPLES = 10**6  # resamples are kept in memory, four bytes per sentence


def add_reference(files: argparse._ArgumentGroup) -> None:
    """Declare the reference, source and languages for single files of hypotheses."""
    add = files.add_argument
    add("--ref", type=Path, metavar="FILE", help="references, one per line")
    add("--src", type=Path, metavar="FILE", help="sources, which COMET requires")
    add("-s", "--source-lang", metavar="LANG", help="language of the source")
    add("-t", "--target-lang", metavar="LANG", help="language of the target")


def add_measures(parser: argparse.ArgumentParser) -> None:
    """Declare the options for data, directions, metrics, groups and significance."""
    add = parser.add_argument
    add("--data", type=Path, metavar="DATA", help="the data folder that was decoded")
    add(
        "--validations",
        action="store_true",
        help="each DIR is the --save-dir of a training run: use the scores of its last validation "
        "(--eval-translation); only --data and --group apply",
    )
    add(
        "--directions",
        metavar="D",
        help="directions to score: all, supervised or zero-shot (with --data), or a list of names "
        "and patterns such as en-de,fr-* (default: all directions of the systems)",
    )
    _measures(parser.add_argument_group("metrics"))
    _aggregates(parser.add_argument_group("groups and significance"))
    add(
        "--workers",
        type=int,
        metavar="N",
        help="processes, except for neural metrics (default: one per CPU core)",
    )


def _measures(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--protocol",
        choices=tuple(PROTOCOLS),
        help="score as this paper does; other options override it",
    )
    add(
        "--metrics",
        metavar="M",
        help=f"all, or a list of {','.join(METRICS)} (default: the protocol's, or bleu,chrf,off)",
    )
    add(
        "--tokenizer",
        metavar="T",
        help="tokenizer of BLEU and TER: language (by target language), zh-ja-ko (by target "
        "language for these, else 13a), moses, or one of SacreBLEU's",
    )
    add(
        "--lowercase",
        action=argparse.BooleanOptionalAction,
        help="ignore case (default: as in the protocol and the data folder)",
    )
    add(
        "--lid",
        metavar="DETECTOR",
        help="language detector for off-target rates: fasttext (lid.176), langdetect, a fastText "
        "model file, corpus (trained on --data), or references (trained on them); default: lid.176 "
        "if installed, else corpus, else references",
    )
    add(
        "--bertscore-model",
        metavar="MODEL",
        help="BERTScore model for all languages, a name or folder",
    )
    add(
        "--bertscore-layer",
        type=int,
        metavar="N",
        help="layer of the BERTScore model; required for a folder",
    )
    add("--comet-model", metavar="MODEL", help="COMET model, a name, checkpoint or folder")
    add("--cache", type=Path, metavar="FILE", help="cache file for neural scores")
    add(
        "--download",
        action="store_true",
        help="download missing models of metrics and detector",
    )


def _aggregates(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--hub",
        metavar="LANG",
        help="hub language, en in the groups en → X and X → en (default: the data folder's, or en)",
    )
    add(
        "--supervised",
        metavar="D",
        help="without --data: list of trained directions; all others are zero-shot",
    )
    add(
        "--group",
        action="append",
        default=[],
        metavar="NAME=P,...",
        help="add a group of directions by patterns such as *-fr,de-*, or groups from a JSON file, "
        "@FILE; repeatable",
    )
    add("--families", action="store_true", help="also group by language family")
    add("--sizes", action="store_true", help="also group by training size (High, Medium, Low)")
    add(
        "--size-bounds",
        metavar="HIGH,MEDIUM",
        help="with --sizes or a protocol with these groups: minimum sentence pairs of High and "
        "Medium (default 900000,100000)",
    )
    add("--baseline", metavar="NAME", help="system to compare with (default: the first)")
    add(
        "--samples",
        type=int,
        default=1000,
        metavar="N",
        help="resamples of the paired bootstrap; 0: no significance test (default 1000)",
    )


def check_measures(args: argparse.Namespace) -> None:
    """Raise UserError for an invalid number or tokenizer."""
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
