"""Writes the embedded corpus: splits by meaning, streamed to plain text.

A meaning belongs to train, valid or test by a hash of its canonical address, which does not depend
on the seed: different splits of any two corpora share no meaning. Within a corpus the numbers of
meanings are all different, and so are the meanings, so that nothing needs to be stored.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import TextIO

from tdo_compat.errors import named_when_full
from tdo_plugin.data.corpus_record import RECORD, Part, Record, read_record
from tdo_plugin.data.corpus_settings import SHARES, CorpusSettings
from tdo_plugin.data.grammar import Meaning, count_meanings, linearize, locate
from tdo_plugin.data.textnames import text_name
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced_folder

VERSION = 1
"""Version of the generated text: increased by any change of grammar or splits."""


def split_of(kind: str, rank: int) -> str:
    """The split of the meaning with this address, in every corpus: train, valid or test."""
    address = f"{kind}:{rank}".encode()
    digest = blake2b(address, digest_size=1, person=b"tdo-split").digest()[0]
    for split, share in SHARES.items():
        if digest < share:
            return split
        digest -= share
    raise AssertionError("shares sum to 256")


def draw(split: str, seed: int) -> Iterator[Meaning]:
    """The meanings of a split in the order of a seed, each once, except *Anna helps Anna*."""
    for index in range(count_meanings()):
        kind, rank = locate(index, seed)
        if split_of(kind.name, rank) != split:
            continue
        clause = kind.clause(rank)
        if not clause.repeats_itself():
            yield Meaning(kind.name, rank, clause)


class _Counter:
    """A progress bar on a terminal; silent otherwise."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._bar = None
        if stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="line", desc="corpus", file=stream, leave=False)

    def add(self, lines: int) -> None:
        if self._bar is not None:
            self._bar.update(lines)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _pair_files(settings: CorpusSettings, split: str, language: str) -> tuple[str, str]:
    stem = f"{split}.{settings.pair(language)}"
    return f"{stem}.{settings.center}", f"{stem}.{language}"


def _write_pairs(folder: Path, settings: CorpusSettings, split: str, counter: _Counter) -> None:
    """Write the files of all pairs in parallel, so that each line's meaning is drawn once."""
    meanings = draw(split, settings.seed)
    shared = settings.copies(split) == 1
    sizes = settings.sizes(split)
    with ExitStack() as stack:
        files = {
            language: [
                stack.enter_context(open(folder / name, "w", encoding="utf-8", newline="\n"))
                for name in _pair_files(settings, split, language)
            ]
            for language, size in sizes.items()
            if size
        }
        for line in range(max(sizes.values())):
            meaning = next(meanings) if shared else None
            for language, size in sizes.items():
                # also drawn for pairs that are complete, so that other pairs do not change
                line_meaning = meaning or next(meanings)
                if line < size:
                    center, translation = files[language]
                    center.write(linearize(line_meaning, settings.center) + "\n")
                    translation.write(linearize(line_meaning, language) + "\n")
                    counter.add(1)


def _write_test(folder: Path, settings: CorpusSettings, counter: _Counter) -> None:
    meanings = draw("test", settings.seed)
    with ExitStack() as stack:
        files = {
            language: stack.enter_context(
                open(folder / f"test.{language}", "w", encoding="utf-8", newline="\n")
            )
            for language in settings.languages
        }
        for _ in range(settings.test):
            meaning = next(meanings)
            for language, file in files.items():
                file.write(linearize(meaning, language) + "\n")
            counter.add(1)


def _part(settings: CorpusSettings) -> Part:
    return Part(
        version=VERSION,
        languages=settings.languages,
        center=settings.center,
        share_center=settings.share_center,
        seed=settings.seed,
        train_pairs_per_language=settings.train,
        valid_pairs_per_language=settings.valid,
        test_sentences=settings.test,
        meanings_in_grammar=count_meanings(),
    )


def _write_all(folder: Path, settings: CorpusSettings, counter: _Counter) -> None:
    for split in ("train", "valid"):
        _write_pairs(folder, settings, split, counter)
    if settings.test:
        _write_test(folder, settings, counter)


def write_corpus(
    out: Path | str, settings: CorpusSettings, fresh: bool = False, progress: TextIO | None = None
) -> None:
    """Write a corpus to the folder ``out``, which appears only when it is complete.

    ``train.C-X.C`` and ``train.C-X.X`` are the training pairs of the center C and another language
    X, ``valid.`` likewise, ``test.L`` the test sets, parallel over all languages, and
    ``corpus.json`` records the settings. A split of size zero has no files. With ``fresh`` a folder
    with files is replaced.

    Raises:
        UserError: ``out`` is a file, has files while ``fresh`` is off, or cannot be written.
    """
    out = Path(out).resolve()
    if out.exists() and not out.is_dir():
        raise UserError(f"`--out` must be a folder; {out} is a file")
    if out.is_dir() and any(out.iterdir()) and not fresh:
        raise UserError(f"`--out` must be new or empty unless `--fresh` is set; {out} has files")
    _write_folder(out, settings, Record(**asdict(_part(settings))), progress)


def add_to_corpus(
    out: Path | str, settings: CorpusSettings, progress: TextIO | None = None
) -> None:
    """Add the pairs of ``settings`` to a corpus, all or none; existing files stay unchanged.

    Test sets must have the size and seed of the existing ones, so that they are parallel over all
    languages; size zero adds none.

    Raises:
        UserError: ``out`` is not a corpus of this version, has one of the pairs in either order or
            other test sets, or cannot be written.
    """
    out = Path(out).resolve()
    record = read_record(out)
    _check_addition(out, settings, record)
    record = replace(record, added=(*record.added, _part(settings)))
    _write_folder(out, settings, record, progress, extend=True)


def _check_addition(out: Path, settings: CorpusSettings, record: Record) -> None:
    if record.version != VERSION:
        raise UserError(
            f"`--out` must be of version {VERSION} of the grammar, with --add; {out} is of "
            f"{record.version}"
        )
    names = filter(None, (text_name(path.name) for path in out.iterdir()))
    present = {frozenset(name.pair) for name in names}
    pairs = [
        settings.pair(language)
        for language in settings.others
        if frozenset((settings.center, language)) in present
    ]
    if pairs:
        raise UserError(f"`--add` must have only new pairs; {out} already has {', '.join(pairs)}")
    for part in record.parts:
        tests = (part.test_sentences, part.seed)
        if settings.test and part.test_sentences and tests != (settings.test, settings.seed):
            raise UserError(
                f"`--test` must be 0, or {part.test_sentences} with --seed {part.seed}, as in {out}"
                f"; it is {settings.test} with --seed {settings.seed}"
            )


def _write_folder(
    out: Path,
    settings: CorpusSettings,
    record: Record,
    progress: TextIO | None,
    extend: bool = False,
) -> None:
    """Write to a temporary folder that replaces ``out``, with ``extend`` including its files."""
    total = sum(sum(settings.sizes(split).values()) for split in ("train", "valid")) + settings.test
    counter = _Counter(total, progress or sys.stderr)
    try:
        with replaced_folder(out) as unfinished, named_when_full(out):
            _write_all(unfinished, settings, counter)
            if extend:
                shutil.copytree(out, unfinished, symlinks=True, dirs_exist_ok=True)
            (unfinished / RECORD).write_text(record.text(), encoding="utf-8")
    except OSError as error:
        raise UserError(f"`--out` must be writable; {out}: {error.strerror or error}") from error
    finally:
        counter.close()
