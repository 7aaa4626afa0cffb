"""A folder of plain parallel text: which languages, pairs and test sets it holds.

The folder is what `tdo corpus` and `tdo multi30k` write and what users bring along:

    train.en-de.en   train.en-de.de     one sentence a line, line i translates line i
    valid.en-de.en   valid.en-de.de
    test.en          test.de            one test set, parallel over all languages, and / or
    test.en-de.en    test.en-de.de      a test set of one pair, which wins over the former
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

from tdo_plugin.errors import UserError

Pair = tuple[str, str]

_CODE = r"[A-Za-z][A-Za-z0-9_]*"
_PAIR_FILE = re.compile(rf"(train|valid|test)\.({_CODE})-({_CODE})\.({_CODE})")
_PARALLEL_FILE = re.compile(rf"test\.({_CODE})")


@dataclass(frozen=True)
class TextFolder:
    """What was found; the order of `languages` fixes the ids of their tags."""

    root: Path
    languages: tuple[str, ...]
    pairs: tuple[Pair, ...]
    pair_tests: tuple[Pair, ...]
    parallel_tests: tuple[str, ...]

    def side(self, split: str, pair: Pair, language: str) -> Path:
        """The file of one language of one pair."""
        return self.root / f"{split}.{pair[0]}-{pair[1]}.{language}"

    def directions(self) -> Iterator[Pair]:
        """Every training direction: each pair both ways."""
        for first, second in self.pairs:
            yield first, second
            yield second, first

    def test_pairs(self) -> Iterator[tuple[Pair, str]]:
        """Every pair that can be tested, with the prefix of its files, each pair once."""
        own = {frozenset(pair) for pair in self.pair_tests}
        for pair in self.pair_tests:
            yield pair, f"test.{pair[0]}-{pair[1]}"
        for pair in combinations(self.parallel_tests, 2):
            if frozenset(pair) not in own:
                yield pair, "test"

    def files(self) -> Iterator[Path]:
        """Every file that preparation reads."""
        for pair in self.pairs:
            for split in ("train", "valid"):
                yield from (self.side(split, pair, language) for language in pair)
        for pair in self.pair_tests:
            yield from (self.side("test", pair, language) for language in pair)
        yield from (self.root / f"test.{language}" for language in self.parallel_tests)


def read_text_folder(root: Path, languages: Sequence[str] | None = None) -> TextFolder:
    """Look at `root` and check that what belongs together is there.

    Args:
        root: the folder of text files.
        languages: their order; by default the order in which the sorted pairs name them.

    Raises:
        UserError: a missing folder, split or side, an unknown language, or sides that differ
            in their number of lines.
    """
    if not root.is_dir():
        raise UserError(f"`TEXT` must be a folder of text files; {root} is not one")
    pairs: dict[str, set[Pair]] = {"train": set(), "valid": set(), "test": set()}
    parallel: set[str] = set()
    for path in sorted(root.iterdir()):
        if match := _PAIR_FILE.fullmatch(path.name):
            split, first, second, language = match.groups()
            if first != second and language in (first, second):
                pairs[split].add((first, second))
        elif match := _PARALLEL_FILE.fullmatch(path.name):
            parallel.add(match.group(1))
    if not pairs["train"]:
        raise UserError(f"`TEXT` must hold train.X-Y.X and train.X-Y.Y; {root} has no such file")
    train = sorted(pairs["train"])
    known = list(dict.fromkeys(language for pair in train for language in pair))
    folder = TextFolder(
        root=root,
        languages=_ordered(known, languages),
        pairs=tuple(train),
        pair_tests=tuple(sorted(p for p in pairs["test"] if set(p) <= set(known))),
        parallel_tests=tuple(language for language in known if language in parallel),
    )
    _check(folder)
    return folder


def _ordered(known: list[str], wanted: Sequence[str] | None) -> tuple[str, ...]:
    if wanted is None:
        return tuple(known)
    if sorted(wanted) != sorted(known):
        raise UserError(
            f"`--languages` must name each of {', '.join(known)} once; it is {','.join(wanted)}"
        )
    return tuple(wanted)


def _check(folder: TextFolder) -> None:
    for path in folder.files():
        if not path.is_file():
            raise UserError(f"`TEXT` must hold {path.name}; {folder.root} does not")
    groups = [
        [folder.side(split, pair, language) for language in pair]
        for split in ("train", "valid")
        for pair in folder.pairs
    ]
    groups += [
        [folder.side("test", pair, language) for language in pair] for pair in folder.pair_tests
    ]
    groups.append([folder.root / f"test.{language}" for language in folder.parallel_tests])
    for group in groups:
        counts = [count_lines(path) for path in group]
        for (path, count), (other, other_count) in pairwise(zip(group, counts, strict=True)):
            if count != other_count:
                raise UserError(
                    f"`{other.name}` must have as many lines as {path.name}, {count}; "
                    f"it has {other_count}"
                )
        if 0 in counts:
            raise UserError(f"`{group[0].name}` must have at least one line; it is empty")


def count_lines(path: Path) -> int:
    """Lines of a file as `read_lines` counts them (newline characters only)."""
    count, last = 0, b"\n"
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block
    return count + (not last.endswith(b"\n"))


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their newline; only `\\n` ends a line.

    A carriage return inside a line would end it for other readers, so it becomes a space.

    Raises:
        UserError: the file is not UTF-8.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as stream:
            for line in stream:
                yield line.rstrip("\r\n").replace("\r", " ")
    except UnicodeDecodeError as error:
        raise UserError(f"`{path}` must be UTF-8 text; it is not ({error.reason})") from None
