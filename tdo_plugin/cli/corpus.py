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
        "--train", type=int, default=20000, metavar="N",
        help="training pairs for each other language (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--valid", type=int, default=500, metavar="N",
        help="validation pairs for each other language (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--test", type=int, default=500, metavar="N",
        help="test sentences, the same meanings in all languages (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--share-center", action="store_true",
        help="train all pairs on the same meanings (default: no two pairs share one)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace DIR if it has files")


def run(args: argparse.Namespace) -> int:
    """Check the options, then write the folder."""
    from tdo_plugin.data.embedded_corpus import CorpusSettings, parse_languages, write_corpus

    settings = CorpusSettings(
        languages=tuple(parse_languages(args.languages)),
        train=args.train,
        valid=args.valid,
        test=args.test,
        seed=args.seed,
        center=args.center,
        share_center=args.share_center,
    )
    write_corpus(args.out, settings, force=args.force)
    print(f"wrote {args.out}")
    return 0
