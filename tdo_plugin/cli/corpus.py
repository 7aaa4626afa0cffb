"""`tdo corpus`: write the embedded corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.launch.parser import seed

HELP = "write the embedded corpus: parallel sentences in seven languages from a grammar"
EXAMPLE = "tdo corpus --out my-text --langs en,de,fr"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="output folder")
    parser.add_argument(
        "--langs", default="en,de,fr,es,ru,tr,ja", metavar="L,L,...",
        help="languages, separated by commas (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--hub", default="en", metavar="L",
        help="language that is in every training pair (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--train", default="20000", metavar="N|PAIR=N,...",
        help="sentence pairs for training, per non-center language, or per pair as in "
        "en-de=300,en-fr=200, where smaller pairs are prefixes of the largest one's sentences "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--valid", type=int, default=500, metavar="N",
        help="sentence pairs for validation, per non-center language (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--test", type=int, metavar="N",
        help="test sentences, parallel in all languages (default: 500; with --add 0)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=seed, default=1, metavar="N", help="random seed (default: %(default)s)"
    )
    parser.add_argument(
        "--share-hub", action="store_true",
        help="use the same center sentences in all pairs (default: disjoint sentences)",
    )  # fmt: skip
    there = parser.add_mutually_exclusive_group()
    there.add_argument("--fresh", action="store_true", help="overwrite DIR if it has files")
    there.add_argument(
        "--add", action="store_true",
        help="add missing pairs to an existing embedded corpus in DIR; --test must be that of DIR, "
        "or 0",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Check the options, then write the folder."""
    from tdo_plugin.data.corpus_settings import CorpusSettings, parse_languages, parse_train
    from tdo_plugin.data.embedded_corpus import add_to_corpus, write_corpus

    settings = CorpusSettings(
        languages=tuple(parse_languages(args.langs)),
        train=parse_train(args.train),
        valid=args.valid,
        test=(0 if args.add else 500) if args.test is None else args.test,
        seed=args.seed,
        center=args.hub,
        share_center=args.share_hub,
    )
    if args.add:
        add_to_corpus(args.out, settings)
    else:
        write_corpus(args.out, settings, fresh=args.fresh)
    print(f"wrote {args.out}")
    return 0
