"""Splits text into training, validation and test sets.

The set of a sentence pair depends on a hash of its text alone, ignoring case and spaces: the pairs
with the smallest hashes are the test set, those with the largest the validation set. So the order
of the text and the names of its files do not matter, and a repeated pair, in one corpus or several,
is in one set only (once in validation or test). If text is added later, no pair moves from training
to a held-out set or between held-out sets; a new held-out pair moves an earlier one to training.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path

from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.data.textnames import (
    SPLITS,
    beyond_pairs,
    corpus_name,
    enumerated,
    is_split_file,
    refuse_clashes,
    text_files,
    unsplit,
)
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import complete_file

Say = Callable[[str], object]
Row = tuple[str, ...]
Files = Mapping[str, Path]  # the files of a corpus by language


@dataclass(frozen=True)
class HeldOutSizes:
    """The number of sentence pairs of each language pair for validation and test."""

    valid: int = 0
    test: int = 0

    def __bool__(self) -> bool:
        return bool(self.valid or self.test)

    def check(self) -> None:
        """Raise UserError if a size is negative."""
        for split in ("valid", "test"):
            size = getattr(self, split)
            if size < 0:
                raise UserError(f"`--split-{split}` must be at least 0; it is {size}")


@dataclass
class _Least:
    """The smallest distinct numbers of many; a heap of their negatives has the largest on top."""

    most: int
    numbers: set[int] = field(default_factory=set)
    _heap: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        if number in self.numbers or not self.most:
            return
        self.numbers.add(number)
        if len(self._heap) < self.most:
            heapq.heappush(self._heap, -number)
        else:
            self.numbers.remove(-heapq.heappushpop(self._heap, -number))


def split_folder(
    folder: Path, out: Path, sizes: HeldOutSizes, option: str, say: Say, pairs: bool = False
) -> None:
    """Split the corpora of a folder into train, valid and test files of `out`.

    A corpus of two languages becomes `train.de-en.de` and so on, one of more `train.de` and so on;
    corpora of the same languages are concatenated.

    Args:
        folder: with `corpus.en` and `corpus.de`, or `Europarl.de-en.en` and `Europarl.de-en.de`,
            plain or gzip.
        out: an empty folder.
        sizes: of the held-out sets.
        option: that sets the folder, for messages.
        say: gets a line for each group of languages, and one on text without a translation.
        pairs: whether only corpora of two languages are accepted.

    Raises:
        UserError: there is no such corpus, or text that is already split; two files are of one
            language; sides differ in length; the text has too few pairs.
    """
    sizes.check()
    if not folder.is_dir():
        raise UserError(f"`{option}` must be a folder of text files; {folder} is not one")
    files = text_files(folder, option)
    refuse_clashes(files, option)
    if already_split := [path.name for path in files if is_split_file(path.name)]:
        raise UserError(
            f"`--split-valid` and `--split-test` must be used with unsplit text; {folder} "
            f"has {already_split[0]}"
        )
    groups: dict[tuple[str, ...], list[Files]] = {}
    corpora = unsplit(files)
    for (_, languages), sides in sorted(corpora.items()):
        groups.setdefault(tuple(sorted(languages)), []).append(sides)
    if not groups:
        raise UserError(
            f"`{option}` must have text to split, corpus.X and corpus.Y or NAME.X-Y.X and "
            f"NAME.X-Y.Y; {folder} does not"
        )
    if pairs and (several := beyond_pairs(corpora)):
        raise UserError(
            f"`{option}` must have text of pairs; {folder} has text of {','.join(several)}, which "
            "tdo prepare --from can split"
        )
    if sum(len(languages) > 2 for languages in groups) > 1:
        raise UserError(
            f"`{option}` must have corpora of only one set of more than two languages; it has "
            f"{' and '.join(','.join(codes) for codes in groups if len(codes) > 2)}"
        )
    used = {path for sides in corpora.values() for path in sides.values()}
    if alone := [path.name for path in files if corpus_name(path.name) and path not in used]:
        say(f"not used, since another language's file is missing: {enumerated(alone)}")
    for languages, group in groups.items():
        _split(languages, group, out, sizes, say)


def _split(
    languages: tuple[str, ...], corpora: Sequence[Files], out: Path, sizes: HeldOutSizes, say: Say
) -> None:
    low, high = _Least(sizes.test), _Least(sizes.valid)
    for row in _rows(languages, corpora):
        if all(text.strip() for text in row):  # a test set cannot have empty lines
            number = _number(row)
            low.add(number)
            high.add(-number)
    test, valid = low.numbers, {-number for number in high.numbers}
    pair = "-".join(languages)
    if len(test) < sizes.test or len(valid) < sizes.valid or test & valid:
        raise UserError(
            "`--split-valid` and `--split-test` must leave training text; they are "
            f"{sizes.valid} and {sizes.test}, and {pair} has no more than "
            f"{len(test | valid)} different sentence pairs"
        )
    counts = dict.fromkeys(SPLITS, 0)
    repeated = 0
    seen: set[int] = set()
    with ExitStack() as stack:
        streams = {
            split: [stack.enter_context(complete_file(out / name)) for name in names]
            for split, names in _names(languages, sizes).items()
        }
        for row in _rows(languages, corpora):
            number = _number(row)
            split = "test" if number in test else "valid" if number in valid else "train"
            if number in seen:
                repeated += 1
                continue
            if split != "train":
                seen.add(number)
            counts[split] += 1
            for text, stream in zip(row, streams[split], strict=True):
                stream.write(f"{text}\n")
    if not counts["train"]:
        raise UserError(
            f"`--split-valid` and `--split-test` must leave training text; {pair} has none left"
        )
    again = f"; {repeated} repetitions of held-out pairs are left out" if repeated else ""
    summary = ", ".join(f"{count} {split}" for split, count in counts.items())
    sources = ", ".join(path.name for files in corpora for path in files.values())
    say(f"{pair}: {summary} of {sources}{again}")


def _names(languages: tuple[str, ...], sizes: HeldOutSizes) -> dict[str, list[str]]:
    """The files of each split."""
    middle = f".{'-'.join(languages)}" if len(languages) == 2 else ""
    included = {"train": True, "valid": sizes.valid, "test": sizes.test}
    return {
        split: [f"{split}{middle}.{language}" for language in languages]
        for split in SPLITS
        if included[split]
    }


def _rows(languages: tuple[str, ...], corpora: Sequence[Files]) -> Iterator[Row]:
    """The rows of all corpora; raises UserError if files of one differ in length."""
    for files in corpora:
        sides = [read_lines(files[language], "utf-8") for language in languages]
        for number, row in enumerate(zip_longest(*sides)):
            if None in row:
                short = files[languages[row.index(None)]]
                others = ", ".join(path.name for path in files.values() if path != short)
                raise UserError(
                    f"`{short.name}` must have as many lines as {others}; it ends after {number}"
                )
            yield row


def _number(row: Row) -> int:
    """64 bits of a hash of the row, ignoring case and spaces."""
    text = "\n".join(" ".join(text.split()).casefold() for text in row)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
