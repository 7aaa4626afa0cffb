"""The corpus to prepare: its description, modified by the options of `tdo prepare`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import tell
from tdo_plugin.corpora.rearranging import rearranged
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.corpora.description import Corpus

TOY = "toy"  # the embedded grammar, which is generated and not downloaded


def asked_corpus(args: argparse.Namespace, scratch: Path) -> tuple[Corpus, dict[str, Path]]:
    """The description, modified by the options, and the files given by the user.

    Args:
        args: the options.
        scratch: a folder for generated or rearranged text.
    """
    from dataclasses import replace

    from tdo_plugin.corpora.description import Sample, load
    from tdo_plugin.corpora.own import describe
    from tdo_plugin.data.textnames import enumerated, text_files

    if args.own is not None:
        settings = _own_segmentation(args, 8000)
        text = rearranged(args.own, args, "--from", scratch, tell)
        corpus, files = describe(text, args.hub, settings, not args.no_cleaning)
        used = {path.name for path in files.values()}
        if unused := [path.name for path in text_files(text, "--from") if path.name not in used]:
            tell(f"not used, by their names: {enumerated(unused)}")
    elif args.name == TOY:
        settings = _own_segmentation(args, 1000)
        corpus, files = describe(_toy(scratch), "en", settings, clean=False)
        corpus = replace(corpus, name=TOY, title="The embedded grammar", licence="the project's")
    else:
        corpus = load(args.name, args.variant)
        files = _given(corpus, args.from_file)
        changed = replace(corpus.segmentation, **_segmentation_changes(args))
        corpus = replace(corpus, segmentation=changed)
    if args.sentences:
        corpus = replace(corpus, segmentation=replace(corpus.segmentation, bounded=False))
    if args.rows is not None:
        seed = corpus.sample.seed if corpus.sample else 1
        alone = [
            replace(monolingual, rows=min(monolingual.rows, args.rows))
            for monolingual in corpus.monolingual
        ]
        corpus = replace(corpus, sample=Sample(args.rows, seed), monolingual=tuple(alone))
    return corpus, files


def given_segmentation(args: argparse.Namespace) -> dict[str, Any]:
    """The segmentation options that were given."""
    names = ("vocab_size", "bpe_operations", "model_type", "sentences")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _segmentation_changes(args: argparse.Namespace) -> dict[str, Any]:
    """Changed segmentation settings; a given size resets the other kind of size."""
    given = given_segmentation(args)
    sizes = ("vocab_size", "bpe_operations")
    return (dict.fromkeys(sizes, 0) if any(name in given for name in sizes) else {}) | given


def _own_segmentation(args: argparse.Namespace, vocab_size: int) -> dict[str, Any]:
    """The segmentation for text without a description; `vocab_size` is the default size."""
    from tdo_plugin.data.joint_model import SegmentationSettings

    settings = {"model_type": "unigram", "vocab_size": vocab_size, **_segmentation_changes(args)}
    SegmentationSettings(**settings)  # its errors name options; those of a description name keys
    return {name: value for name, value in settings.items() if value}


def _toy(scratch: Path) -> Path:
    """The embedded corpus as `tdo corpus` writes it."""
    from tdo_plugin.data.corpus_settings import CorpusSettings
    from tdo_plugin.data.embedded_corpus import write_corpus
    from tdo_plugin.data.grammar import LANGUAGES

    folder = scratch / TOY
    write_corpus(folder, CorpusSettings(tuple(LANGUAGES)), fresh=True)
    return folder


def _given(corpus: Corpus, paths: Sequence[Path]) -> dict[str, Path]:
    """The user's archives by name; from a folder, the files that belong to the corpus."""
    from collections import Counter

    from tdo_plugin.corpora.sources.fetch import accepted_names

    archives = corpus.archives_needed().values()
    names = Counter(name for archive in archives for name in accepted_names(archive))
    # a name shared by several URLs, such as `download`, does not identify an archive
    unique = {name for name, count in names.items() if count == 1}
    files: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise UserError(f"`--from-file` must be a file or a folder; {path} does not exist")
        matching = [
            entry for entry in (path.iterdir() if path.is_dir() else [path]) if entry.name in unique
        ]
        if not matching:
            what = "contain an archive" if path.is_dir() else "be named like an archive"
            raise UserError(
                f"`--from-file` must {what} of {corpus.name} (--show lists them); {path} "
                f"{'does' if path.is_dir() else 'is'} not"
            )
        files |= {archive.name: archive for archive in matching}
    return files
