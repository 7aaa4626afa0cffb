"""`tdo backtranslate`: pair target text with synthetic sources, as extra training data."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import tell
from tdo_plugin.cli.decoding import (
    check_decoding,
    decoding_options,
    machine_options,
    path_option,
    run_stages,
    search_options,
    settings_of,
)
from tdo_plugin.cli.monolingual import add_texts, check_counts, texts_of
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.corpora.single_language_text import MonolingualTexts
    from tdo_plugin.data.auxiliary_folder import FurtherFolder
    from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
    from tdo_plugin.evaluation.decoding.textjobs import TextJob

HELP = "back-translate monolingual target text with a trained model, as extra training data"
EXAMPLE = "tdo backtranslate my-data --path my-model --text de=news.de --into en --out my-pairs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("data", type=Path, metavar="DATA", help="data folder (`tdo prepare` or `tdo preprocess`)")
    path_option(parser)
    add_texts(parser)
    add(
        "--into",
        required=True,
        type=_languages,
        metavar="SRC[,SRC...]",
        help="languages of the synthetic sources; each text is translated into all of them except "
        "its own",
    )
    add("--out", type=Path, required=True, metavar="FOLDER", help="output folder")
    add(
        "--max-ratio",
        type=float,
        default=3.0,
        metavar="X",
        help="drop pairs if one side has more than X times as many pieces as the other (default 3)",
    )
    add(
        "--part-lines",
        type=int,
        default=5000,
        metavar="N",
        help="lines per job of a worker: an interrupted run loses at most N lines per worker "
        "(default 5000)",
    )
    add("--fresh", action="store_true", help="remake the folder, even from other inputs")
    search_options(parser.add_argument_group("search"))
    machine_options(parser)


def _languages(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, text.split(","))))
    if not names:
        raise argparse.ArgumentTypeError("must name languages, separated by commas; it has none")
    return names


def run(args: argparse.Namespace) -> int:
    """Make the folder unless it is complete; returns 1 if a part could not be translated."""
    from tdo_plugin.corpora.single_language_text import MonolingualTexts
    from tdo_plugin.data.auxiliary_folder import BACK_TRANSLATED, FurtherFolder
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.evaluation.protocols import protocol
    from tdo_plugin.runtime.lock import alone
    from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal

    _check(args)
    data = read_data_folder(args.data.resolve())
    texts = MonolingualTexts(data, texts_of(args.text))
    texts.check()
    pairs = _pairs(args, texts)
    if args.sampling and args.beam is None:
        args.beam = 1
    options = decoding_options(args, protocol(None))
    settings = {
        **texts.settings,
        "pairs": sorted("-".join(pair) for pair in pairs),
        "max_ratio": args.max_ratio,
        "max_pieces": args.max_pieces,
        "search": settings_of(options),
        **({"part_lines": args.part_lines} if args.sampling else {}),  # parts have their own draws
    }
    folder = FurtherFolder(args.out.resolve(), BACK_TRANSLATED)
    with alone(folder.root), ended_by_signal(hint=GOES_ON):
        if folder.is_whole(settings, args.fresh):
            tell(f"{folder.root} is already complete")
        elif failed := _make(args, folder, texts, pairs, options, settings):
            tell(f"{failed} parts failed; run the same command again to retry them")
            return 1
    print(folder.root, flush=True)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_counts(args)
    check_decoding(args, args.path)
    if args.part_lines < 1:
        raise UserError(f"`--part-lines` must be at least 1; it is {args.part_lines}")
    if not 1 <= args.max_ratio < math.inf:
        raise UserError(f"`--max-ratio` must be a number of at least 1; it is {args.max_ratio}")
    if args.sampling and args.beam not in (None, 1):
        raise UserError(
            f"`--beam` must be left out with --sampling, which draws once; it is {args.beam}"
        )


def _pairs(args: argparse.Namespace, texts: MonolingualTexts) -> list[tuple[str, str]]:
    """(source, target) language pairs of the synthetic training data.

    Raises:
        UserError: languages that the data folder lacks, or a text without a source language.
    """
    for language in args.into:
        if language not in texts.data.languages:
            raise UserError(
                f"`--into` must name languages of {texts.data.root}, "
                f"{', '.join(texts.data.languages)}; it has {language}"
            )
    pairs = [(source, text) for text in texts.files for source in args.into if source != text]
    for text in texts.files:
        if text not in {target for _, target in pairs}:
            raise UserError(
                f"`--into` must name a language other than {text}; it is {','.join(args.into)}"
            )
    return pairs


def _make(
    args: argparse.Namespace,
    folder: FurtherFolder,
    texts: MonolingualTexts,
    pairs: list[tuple[str, str]],
    options: DecodingOptions,
    settings: dict[str, Any],
) -> int:
    """Clean, translate, filter and binarise; returns the number of failed parts."""
    from tdo_plugin.corpora.single_language_text import line_of, place
    from tdo_plugin.corpora.synthetic import Translated, make_synthetic
    from tdo_plugin.evaluation.decoding.decoded_checkpoints import describe
    from tdo_plugin.evaluation.decoding.textjobs import parts_of
    from tdo_plugin.evaluation.decoding.worker import Work
    from tdo_plugin.launch.environment import cores
    from tdo_plugin.runtime.files import sha256
    from tdo_plugin.runtime.provenance import made_by

    out, workers = folder.root, args.workers or cores()
    _check_languages(options, pairs)
    cleaned = texts.write(out, workers)
    for language, facts in cleaned.items():
        tell(line_of(language, facts))
    decoded = out / "work" / "decoded"
    jobs: dict[tuple[str, str], tuple[str, list[TextJob]]] = {}
    for source, target in pairs:
        text = place(out, target)
        key = _digest([settings["search"], args.part_lines, settings["model"], sha256(text)])
        parts = parts_of(text, f"{target}-{source}", args.part_lines, decoded / key)
        jobs[source, target] = key, parts
    todo = [job for _, parts in jobs.values() for job in parts if not job.is_whole(out)]
    whole = sum(len(parts) for _, parts in jobs.values()) - len(todo)
    if whole:
        tell(f"{whole} of {whole + len(todo)} parts are already complete")
    work = Work(options, texts.data, out, args.user_dir)
    if failed := run_stages([todo], work, args, unit="parts"):
        return failed
    translated = [
        Translated(pair, place(out, pair[1]), [job.place for job in parts], key)
        for pair, (key, parts) in jobs.items()
    ]
    ways = args.max_ratio, args.max_pieces, workers, tell
    outcome = make_synthetic(folder, texts.data.root, translated, *ways)
    how = {
        "checkpoints": [describe(path) for path in options.checkpoints],
        **made_by(shlex.join(["tdo", *sys.argv[1:]])),
    }
    _forget(decoded, {key for key, _ in jobs.values()})  # only now, as they are expensive
    folder.finish(settings, {**outcome, "texts": cleaned, **how})
    return 0


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _forget(decoded: Path, keys: Collection[str]) -> None:
    """Remove translations of other text, or by another model or search."""
    for path in decoded.glob("*"):
        if path.name not in keys:
            shutil.rmtree(path)


def _check_languages(options: DecodingOptions, pairs: Iterable[tuple[str, str]]) -> None:
    """Fail once here, rather than in every part, if a checkpoint lacks a language."""
    from tdo_plugin.evaluation.decoding.loading import check_languages, known_languages

    for path in options.checkpoints:
        languages = known_languages(path)
        for source, target in pairs:
            check_languages(languages, f"{target}-{source}")
