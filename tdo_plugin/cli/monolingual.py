"""`tdo monolingual`: prepare monolingual text as extra training data of a data folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tdo_compat.errors import tell
from tdo_plugin.errors import UserError

HELP = "segment and binarise monolingual text, for training on target text without sources"
EXAMPLE = "tdo monolingual my-data --text de=news.de fr=news.fr.gz --out my-text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("data", type=Path, metavar="DATA", help="data folder (`tdo prepare` or `tdo preprocess`)")
    add_texts(parser)
    add("--out", type=Path, required=True, metavar="FOLDER", help="output folder")
    add("--workers", type=int, metavar="N", help="processes (default: one per CPU core)")
    add("--fresh", action="store_true", help="remake the folder, even from other text")


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Declare the options for monolingual text, which several commands share."""
    parser.add_argument(
        "--text",
        nargs="+",
        action="extend",
        required=True,
        metavar="LANG=FILE",
        help="text in a language of DATA, one sentence per line, plain or gzip; several files of a "
        "language are concatenated",
    )
    parser.add_argument(
        "--max-pieces",
        type=int,
        default=1000,
        metavar="N",
        help="skip sentences with more than N subword pieces (default 1000)",
    )


def run(args: argparse.Namespace) -> int:
    """Make the folder, unless it was already made from the same text."""
    from tdo_plugin.corpora.monolingual_folder import make_monolingual
    from tdo_plugin.corpora.single_language_text import MonolingualTexts
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.launch.environment import cores
    from tdo_plugin.runtime.lock import alone

    check_counts(args)
    texts = MonolingualTexts(read_data_folder(args.data.resolve()), texts_of(args.text))
    texts.check()  # before a folder is made
    out, workers = args.out.resolve(), args.workers or cores()
    with alone(out):
        make_monolingual(texts, out, args.max_pieces, workers, args.fresh, tell)
    print(out, flush=True)
    return 0


def check_counts(args: argparse.Namespace) -> None:
    """Raise UserError if `--max-pieces` or `--workers` is below 1."""
    for name in ("max_pieces", "workers"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UserError(f"`--{name.replace('_', '-')}` must be at least 1; it is {value}")


def texts_of(words: Sequence[str]) -> dict[str, list[Path]]:
    """The files of each language.

    Raises:
        UserError: a word that is not LANG=FILE.
    """
    files: dict[str, list[Path]] = {}
    for word in words:
        language, _, path = word.partition("=")
        if not language or not path:
            raise UserError(f"`--text` must be LANG=FILE; it is {word}")
        files.setdefault(language, []).append(Path(path))
    return files
