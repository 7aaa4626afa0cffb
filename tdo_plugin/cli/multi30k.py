"""`tdo multi30k`: Multi30k task 1 as an English-centric text folder, checked or downloaded."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "Multi30k (en, de, fr, cs) as a text folder, from a folder or downloaded with checksums"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="text folder to write"
    )
    parser.add_argument(
        "--raw",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder with {train,val,test_2016_flickr}.{en,de,fr,cs}.gz",
    )
    parser.add_argument(
        "--download",
        action="store_true",
        help="fetch into --raw what it lacks, from Multi30k's repository",
    )
    parser.add_argument(
        "--form",
        default="shared",
        choices=("shared", "disjoint"),
        help="shared: each pair has all sentences; disjoint: a third each",
    )


def run(args: argparse.Namespace) -> int:
    """Check or fetch the raw files, then write the text folder."""
    from tdo_plugin.data import multi30k

    if args.download:
        multi30k.download(args.raw, say=lambda url: print(f"fetching {url}", flush=True))
    multi30k.check(args.raw)
    sizes = multi30k.write_corpus(args.raw, args.out, args.form)
    for pair, size in sizes.items():
        print(f"{pair}: {size} training sentences")
    return 0
