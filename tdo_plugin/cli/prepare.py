"""`tdo prepare`: make a data folder from a corpus, from your own text, or from fairseq's folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tdo_compat.errors import print_line, tell
from tdo_plugin.cli.prepare_adopted import add_adoption, adopted, check_adoption
from tdo_plugin.cli.prepare_corpus import TOY, asked_corpus, given_segmentation
from tdo_plugin.corpora.rearranging import add_rearranging
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.lock import refuse_same

if TYPE_CHECKING:
    from tdo_plugin.corpora.description import Corpus

ABOUT_TOY = f"{TOY}: the embedded grammar, seven languages (tdo corpus has its options)"
HELP = "make a data folder: from a corpus of the papers, your own text, or fairseq's folder"
EXAMPLE = "tdo prepare multi30k --out my-data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_what(parser)
    _add_source(parser.add_argument_group("archives"))
    _add_own(parser.add_argument_group("your own text"))
    add_adoption(parser.add_argument_group("a folder of fairseq-preprocess"))
    _add_changes(parser.add_argument_group("overrides of the corpus description"))
    _add_run(parser.add_argument_group("run"))


def _add_what(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "name",
        nargs="?",
        metavar="NAME",
        help="a corpus (see --list), or a corpus description file, NAME.json",
    )
    add("--out", type=Path, metavar="DIR", help="data folder to make")
    add("--variant", metavar="V[,V]", help="variant of the corpus (see --list)")
    add("--list", action="store_true", help="list the corpora and their variants")
    add("--show", action="store_true", help="show the licence, archives and notes of NAME")
    add(
        "--check",
        action="store_true",
        help="check that the URLs of NAME, or of all corpora, respond, without downloading",
    )


def _add_source(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--from-file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="an archive that you already have, under its original name, or a folder of archives; "
        "repeatable",
    )
    group.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="download cache for archives (default: $TDO_CACHE, or ~/.cache/tdo_plugin/corpora)",
    )


def _add_own(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--from",
        dest="own",
        type=Path,
        metavar="DIR",
        help="folder with train, valid and test text: train.X-Y.X and train.X-Y.Y, or train.X for "
        "each language, or train.tsv with a header of language codes; plain or gzip",
    )
    group.add_argument(
        "--hub", metavar="X", help="train only pairs with language X (default: all pairs)"
    )
    group.add_argument(
        "--no-cleaning",
        action="store_true",
        help="drop only empty lines; keep duplicates, unreadable lines and lines of held-out sets",
    )
    add_rearranging(group)


def _add_changes(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--vocab-size", type=int, metavar="N", help="pieces of the joint SentencePiece model"
    )
    group.add_argument(
        "--bpe-operations",
        type=int,
        metavar="N",
        help="merges of a joint BPE model, instead of --vocab-size; the vocabulary size follows",
    )
    group.add_argument("--model-type", choices=("unigram", "bpe"), help="SentencePiece model type")
    group.add_argument(
        "--model-of",
        type=Path,
        metavar="DIR",
        help="use the segmentation and dictionary of another data folder or of `tdo convert`, "
        "instead of training a new model",
    )
    group.add_argument(
        "--sentences",
        type=int,
        metavar="N",
        help="train the SentencePiece model on N sentences, regardless of memory (default: as in "
        "the description, limited to about 2 GiB of memory)",
    )
    group.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="for a trial: draw N lines of each training pair and each monolingual text",
    )


def _add_run(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: one per CPU core)"
    )
    group.add_argument(
        "--shard-sentences",
        type=int,
        default=0,
        metavar="N",
        help="split pairs with more than N sentences into shards, data folders named "
        "DIR:DIR/shard2:... (default 0: no shards)",
    )
    group.add_argument(
        "--fresh", action="store_true", help="remake the folder even if it is complete"
    )


def run(args: argparse.Namespace) -> int:
    """List, show, check or prepare."""
    from tdo_plugin.corpora.description import names

    check_adoption(args, add_arguments)
    if args.adopt is not None:
        return adopted(args)
    if args.list:
        return _list()
    if args.name == TOY and (args.check or args.show):
        print_line(ABOUT_TOY)
        return 0
    if args.check:
        return _check([args.name] if args.name else names(), args.variant)
    _check_options(args)
    with TemporaryDirectory() as scratch:
        corpus, files = asked_corpus(args, Path(scratch))
        if args.show:
            return _show(corpus)
        return _prepare(args, corpus, files)


def _check_options(args: argparse.Namespace) -> None:
    bounds = {"vocab_size": 1, "bpe_operations": 1, "rows": 1, "workers": 1}
    bounds |= {"sentences": 0, "shard_sentences": 0}
    for name, least in bounds.items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise UserError(f"`--{name.replace('_', '-')}` must be at least {least}; it is {value}")
    if (args.name is None) == (args.own is None):
        raise UserError("exactly one of `NAME`, `--from` and `--adopt` must be given")
    if args.out is None and not args.show:
        raise UserError("`--out` must name the data folder; it is missing")
    if args.own is not None and args.out is not None:
        refuse_same(args.out, args.own, "--from")
    if args.model_of is not None and given_segmentation(args):
        raise UserError(
            "`--model-of` must be used without other segmentation options, which are those of "
            f"{args.model_of}"
        )
    if args.cache is not None and not args.cache.is_dir():
        raise UserError(f"`--cache` must be a folder that exists; {args.cache} does not")
    if args.own is None and (args.hub or args.no_cleaning):
        raise UserError("`--hub` and `--no-cleaning` must come with --from")
    if args.own is None and (args.rename or args.split_valid or args.split_test):
        raise UserError("`--rename`, `--split-valid` and `--split-test` must come with --from")
    if (args.own is not None or args.name == TOY) and (args.variant or args.from_file):
        raise UserError("`--variant` and `--from-file` must be left out with --from and toy")


def _list() -> int:
    from tdo_plugin.corpora.description import load, names

    for name in names():
        corpus = load(name)
        print_line(f"{name}: {corpus.title} ({corpus.paper})")
        for variant, about in corpus.variants.items():
            print_line(f"    --variant {variant}: {about}")
    print_line(ABOUT_TOY)
    return 0


def _check(names: list[str], variant: str | None) -> int:
    from tdo_plugin.corpora.description import load
    from tdo_plugin.corpora.sources.fetch import check

    good = True
    for name in names:
        for status in check(load(name, variant).archives_needed().values()):
            size = "" if status.bytes is None else f" ({status.bytes:,} bytes)"
            address = f"{status.url}: " if status.url else ""
            print_line(f"{name}: {status.file}: {address}{status.reason or 'ok'}{size}")
            good &= status.ok
    return 0 if good else 1


def _show(corpus: Corpus) -> int:
    print_line(f"{corpus.name}: {corpus.title}\npaper: {corpus.paper}\nlicence: {corpus.licence}")
    print_line(f"cite: {corpus.cite}\nlanguages: {' '.join(corpus.languages)}")
    print_line(
        f"pairs: {len(corpus.train_pairs)} with training text, {len(corpus.test_pairs)} with tests"
    )
    for archive in corpus.archives_needed().values():
        size = f"{archive.bytes:,} bytes" if archive.bytes else "size unknown"
        checksum = (
            "SHA-256 known" if archive.sha256 else "MD5 known" if archive.md5 else "no checksum"
        )
        print_line(f"archive {archive.name}: {size}, {checksum}")
        for url in (*archive.urls, *(url for part in archive.parts for url in part.urls)):
            print_line(f"    {url}")
    for note in corpus.notes:
        print_line(f"note: {note}")
    return 0


def _prepare(args: argparse.Namespace, corpus: Corpus, files: dict[str, Path]) -> int:
    from tdo_plugin.corpora import preparing
    from tdo_plugin.corpora.sources.fetch import default_cache
    from tdo_plugin.launch.environment import cores

    workers = cores() if args.workers is None else args.workers

    tell(f"{corpus.title}. Licence: {corpus.licence}")
    cache = args.cache or default_cache()
    out, shards = args.out.resolve(), args.shard_sentences
    preparing.prepare(corpus, cache, files, out, workers, args.fresh, tell, shards, args.model_of)
    return 0
