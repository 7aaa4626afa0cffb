"""The embedded corpus on disk: splits by meaning, streamed to plain text.

A meaning belongs to train, valid or test by a hash of its canonical address, which does not depend
on the seed: whatever is drawn, splits of any two corpora share no meaning. Within a corpus the
numbers of the meanings are all different and so are the meanings, so that nothing is remembered.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TextIO

from tdo_compat.errors import named_when_full
from tdo_plugin.data.corpus_record import RECORD, Part, Record, read_record
from tdo_plugin.data.grammar import LANGUAGES, Meaning, count_meanings, linearize, locate
from tdo_plugin.data.textnames import text_name
from tdo_plugin.errors import UserError

VERSION = 1
"""Of the generated text: any change of grammar or splits raises it."""

SHARES = {"test": 32, "valid": 32, "train": 192}
"""Of 256 meanings, how many belong to each split on average."""


@dataclass(frozen=True)
class CorpusSettings:
    """What to write.

    ``train`` counts sentence pairs for each pair of ``center`` and another language, or says of
    each pair, named as in its files (``en-de``), how many; a pair that has fewer has the first ones
    of what it would have with the largest number. ``valid`` counts pairs likewise, ``test``
    meanings, which all languages share. With ``share_center`` all pairs have the same training
    meanings, otherwise no two pairs have one in common.

    Raises:
        UserError: when a language is unknown, named twice or missing, a size does not fit, or
            ``train`` names other pairs than there are.
    """

    languages: tuple[str, ...]
    train: int | dict[str, int] = 20000
    valid: int = 500
    test: int = 500
    seed: int = 1
    center: str = "en"
    share_center: bool = False

    def __post_init__(self) -> None:
        available = ", ".join(LANGUAGES)
        for position, language in enumerate(self.languages):
            if language not in LANGUAGES:
                raise UserError(f"`--languages` must be among {available}; one is {language!r}")
            if language in self.languages[:position]:
                raise UserError(f"`--languages` must name each language once; {language} is twice")
        if len(self.languages) < 2:
            named = ",".join(self.languages) or "empty"
            raise UserError(f"`--languages` must name at least two of {available}; it is {named}")
        if self.center not in self.languages:
            listed = ", ".join(self.languages)
            raise UserError(
                f"`--center` must be one of `--languages` ({listed}); it is {self.center}"
            )
        pairs = [self.pair(language) for language in self.others]
        if not isinstance(self.train, int) and sorted(self.train) != sorted(pairs):
            raise UserError(
                f"`--train` must be a number, or have one for each of {', '.join(pairs)}; "
                f"it has {', '.join(self.train)}"
            )
        for split, share in SHARES.items():
            sizes = self.sizes(split).values()
            if min(sizes) < 0:
                raise UserError(f"`--{split}` must not be negative; it is {min(sizes)}")
            # 9/10 leaves room for the hash's deviation from its average share.
            most = count_meanings() * share // 256 * 9 // 10 // self.copies(split)
            if max(sizes) > most:
                raise UserError(f"`--{split}` must be at most {most}, by the number of meanings; "
                                f"it is {max(sizes)}")  # fmt: skip

    @property
    def others(self) -> tuple[str, ...]:
        """The languages but the center."""
        return tuple(language for language in self.languages if language != self.center)

    def pair(self, language: str) -> str:
        """What the pair of the center and another language is called."""
        return f"{self.center}-{language}"

    def sizes(self, split: str) -> dict[str, int]:
        """The size of a split by the other language of a pair."""
        size = getattr(self, split)
        return {
            language: size if isinstance(size, int) else size[self.pair(language)]
            for language in self.others
        }

    def copies(self, split: str) -> int:
        """How many disjoint sets of meanings a split takes."""
        return len(self.others) if split == "train" and not self.share_center else 1


def split_of(kind: str, rank: int) -> str:
    """The split of the meaning with this address, in every corpus: train, valid or test."""
    address = f"{kind}:{rank}".encode()
    digest = blake2b(address, digest_size=1, person=b"tdo-split").digest()[0]
    for split, share in SHARES.items():
        if digest < share:
            return split
        digest -= share
    raise AssertionError("shares add up to 256")


def draw(split: str, seed: int) -> Iterator[Meaning]:
    """The meanings of a split in the order of a seed, each once, but for *Anna helps Anna*."""
    for index in range(count_meanings()):
        kind, rank = locate(index, seed)
        if split_of(kind.name, rank) != split:
            continue
        clause = kind.clause(rank)
        if not clause.repeats_itself():
            yield Meaning(kind.name, rank, clause)


class _Counter:
    """One line that counts on a terminal; silent elsewhere."""

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
    """The files of all pairs, line by line in turn, so that each line's meaning is drawn once."""
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
                # drawn for a pair that is at its end, too, so that the others' do not change
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


def _publish(finished: Path, out: Path) -> None:
    """Puts the finished folder in place; what stood there goes only when the new one is there."""
    finished.chmod(0o755)
    if not out.exists():
        finished.replace(out)
        return
    old = finished.with_name(finished.name + ".old")
    out.replace(old)
    try:
        finished.replace(out)
    except BaseException:
        old.replace(out)
        raise
    shutil.rmtree(old)


def write_corpus(
    out: Path | str, settings: CorpusSettings, force: bool = False, progress: TextIO | None = None
) -> None:
    """Writes a corpus to the folder ``out``, which appears only when it is complete.

    ``train.C-X.C`` and ``train.C-X.X`` are the training pairs of the center C and another language
    X, ``valid.`` likewise, ``test.L`` the test sets, parallel over all languages, and
    ``corpus.json`` tells the settings. A split of size zero has no files. With ``force`` a folder
    that is not empty is replaced.

    Raises:
        UserError: when ``out`` is a file, or a folder that is not empty and ``force`` is off, or
            cannot be written.
    """
    out = Path(out).resolve()
    if out.exists() and not out.is_dir():
        raise UserError(f"`--out` must be a folder; {out} is a file")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise UserError(f"`--out` must be new or empty unless `--force` is given; {out} has files")
    _write_folder(out, settings, Record(**asdict(_part(settings))), progress)


def add_to_corpus(
    out: Path | str, settings: CorpusSettings, progress: TextIO | None = None
) -> None:
    """Adds the pairs of ``settings`` to a corpus, all of them or none; its files stay as they are.

    Test sets must be of the size and seed of those that are there, so that they are parallel over
    all languages; a size of zero adds none.

    Raises:
        UserError: when ``out`` is no corpus of this version, has one of the pairs, either way
            round, has other test sets, or cannot be written.
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
        raise UserError(f"`--add` must be of pairs that {out} lacks; it has {', '.join(pairs)}")
    for part in record.parts:
        tests = (part.test_sentences, part.seed)
        if settings.test and part.test_sentences and tests != (settings.test, settings.seed):
            raise UserError(
                f"`--test` must be 0, or {part.test_sentences} with --seed {part.seed}, as {out} "
                f"has; it is {settings.test} with --seed {settings.seed}"
            )


def _write_folder(
    out: Path,
    settings: CorpusSettings,
    record: Record,
    progress: TextIO | None,
    extend: bool = False,
) -> None:
    """Writes beside ``out`` what is to stand there, with ``extend`` what stands there too."""
    total = sum(sum(settings.sizes(split).values()) for split in ("train", "valid")) + settings.test
    counter = _Counter(total, progress or sys.stderr)
    try:
        parent = out.parent
        parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=parent))
        try:
            with named_when_full(out):
                _write_all(scratch, settings, counter)
                if extend:
                    shutil.copytree(out, scratch, symlinks=True, dirs_exist_ok=True)
                (scratch / RECORD).write_text(record.text(), encoding="utf-8")
            _publish(scratch, out)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise UserError(f"`--out` must be writable; {out}: {error.strerror or error}") from error
    finally:
        counter.close()


def parse_languages(text: str) -> Sequence[str]:
    """``en,de,fr`` to its parts; blanks around commas do not matter."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_train(text: str) -> int | dict[str, int]:
    """``300`` to a number, ``en-de=300,en-fr=200`` to the number of each pair.

    Raises:
        UserError: it is neither, or a pair is named twice.
    """
    try:
        if "=" not in text:
            return int(text)
        parts = [part.partition("=") for part in parse_languages(text)]
        sizes = [(pair.strip(), int(size)) for pair, _, size in parts]
    except ValueError:
        raise UserError(
            "`--train` must be a number, or one for each pair such as en-de=300,en-fr=200; "
            f"it is {text}"
        ) from None
    if len(dict(sizes)) < len(sizes):
        raise UserError(f"`--train` must name each pair once; it is {text}")
    return dict(sizes)
