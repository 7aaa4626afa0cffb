"""`tdo corpus`: write the embedded corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.launch.parser import seed

HELP = "write the embedded corpus: one meaning in seven languages, from a grammar"
EXAMPLE = "tdo corpus --out my-text --languages en,de,fr"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument(
        "--languages", default="en,de,fr,es,ru,tr,ja", metavar="L,L,...",
        help="languages, separated by commas (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--center", default="en", metavar="L",
        help="the language of every training pair (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--train", default="20000", metavar="N|PAIR=N,...",
        help="training pairs for each other language, or for each pair such as "
        "en-de=300,en-fr=200: the first ones of what the largest number gives "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--valid", type=int, default=500, metavar="N",
        help="validation pairs for each other language (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--test", type=int, metavar="N",
        help="test sentences, the same meanings in all languages (default: 500; with --add 0)",
    )  # fmt: skip
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--share-center", action="store_true",
        help="train all pairs on the same meanings (default: no two pairs share one)",
    )  # fmt: skip
    there = parser.add_mutually_exclusive_group()
    there.add_argument("--force", action="store_true", help="replace DIR if it has files")
    there.add_argument(
        "--add", action="store_true",
        help="add pairs that DIR lacks to what tdo corpus wrote there; --test must be that of DIR, "
        "or 0",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Check the options, then write the folder."""
    from tdo_plugin.data.corpus_settings import CorpusSettings, parse_languages, parse_train
    from tdo_plugin.data.embedded_corpus import add_to_corpus, write_corpus

    settings = CorpusSettings(
        languages=tuple(parse_languages(args.languages)),
        train=parse_train(args.train),
        valid=args.valid,
        test=(0 if args.add else 500) if args.test is None else args.test,
        seed=args.seed,
        center=args.center,
        share_center=args.share_center,
    )
    if args.add:
        add_to_corpus(args.out, settings)
    else:
        write_corpus(args.out, settings, force=args.force)
    print(f"wrote {args.out}")
    return 0
