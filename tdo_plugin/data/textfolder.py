"""A folder of plain parallel text: its languages, pairs and test sets.

`tdo corpus` writes this layout, and users can provide it:

    train.en-de.en   train.en-de.de     one sentence per line, line i translates line i
    valid.en-de.en   valid.en-de.de     a validation set of one pair, and / or
    valid.en         valid.de           one that is parallel over all languages; the former wins
    test.en-de.en    test.en-de.de      test sets in the same two forms
    test.en          test.de
    plain/test.en-de.en and so on       if the text is tokenized or recased: the original text of
                                        all test sets, for scoring

A pair need not have all three splits. A training validates on the trained pairs that have a
validation set, and measures zero-shot directions on sets of pairs without training text.
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import TextIO

from tdo_plugin.data.textnames import (
    is_split_file,
    is_table,
    refuse_unfit,
    text_name,
    unsplit,
    unsplit_advice,
)
from tdo_plugin.errors import UserError

Pair = tuple[str, str]

PLAIN = "plain"
LONGEST = 1_000_000  # characters of a line
UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)


@dataclass(frozen=True)
class TextFolder:
    """The files of the folder; the order of `languages` determines the ids of their tags.

    `left_out` are names of files of pairs that were not requested.
    """

    root: Path
    languages: tuple[str, ...]
    pairs: tuple[Pair, ...]
    pair_tests: tuple[Pair, ...]
    parallel_tests: tuple[str, ...]
    pair_valids: tuple[Pair, ...]
    parallel_valids: tuple[str, ...]
    has_plain: bool = False
    left_out: frozenset[str] = frozenset()

    def side(self, split: str, pair: Pair, language: str) -> Path:
        """The file of one language of one pair."""
        return self.root / f"{split}.{pair[0]}-{pair[1]}.{language}"

    def named(self, path: Path) -> str:
        """The name of a file: its path relative to the folder."""
        return path.relative_to(self.root).as_posix()

    def plain(self, test: Path) -> Path:
        """The original form of a test file; the file itself if there is none."""
        return self.root / PLAIN / test.name if self.has_plain else test

    def sides(self, split: str, pair: Pair) -> tuple[Path, Path]:
        """The files of both languages of one pair."""
        return self.side(split, pair, pair[0]), self.side(split, pair, pair[1])

    def directions(self) -> Iterator[Pair]:
        """Every training direction: each pair in both directions."""
        for first, second in self.pairs:
            yield first, second
            yield second, first

    def test_pairs(self) -> Iterator[tuple[Pair, str]]:
        """Every pair that can be tested, with the prefix of its files.

        Each pair occurs once, except pairs whose directions have different test sets.
        """
        tested = {frozenset(pair) for pair in self.pair_tests}
        for pair in self.pair_tests:
            yield pair, f"test.{pair[0]}-{pair[1]}"
        for pair in combinations(self.parallel_tests, 2):
            if frozenset(pair) not in tested:
                yield pair, "test"

    def valids(self) -> Iterator[tuple[Pair, tuple[Path, Path]]]:
        """Every pair with validation text, once, with its two files."""
        validated = {frozenset(pair) for pair in self.pair_valids}
        trained = {frozenset(pair): pair for pair in self.pairs}
        for pair in self.pair_valids:
            yield pair, self.sides("valid", pair)
        for both in combinations(self.parallel_valids, 2):
            if frozenset(both) not in validated:
                first, second = trained.get(frozenset(both), both)
                yield (first, second), (self.root / f"valid.{first}", self.root / f"valid.{second}")

    def sets(self) -> Iterator[list[Path]]:
        """The files that preparation reads, grouped by parallel text."""
        for pair in self.pairs:
            yield list(self.sides("train", pair))
        kinds = (
            ("test", self.pair_tests, _further(self.parallel_tests, self.pair_tests)),
            ("valid", self.pair_valids, _further(self.parallel_valids, self.pair_valids)),
        )
        for split, pairs, languages in kinds:
            groups = [list(self.sides(split, pair)) for pair in pairs]
            groups.append([self.root / f"{split}.{language}" for language in languages])
            for group in groups:
                plain = map(self.plain, group) if split == "test" else ()
                yield list(dict.fromkeys((*group, *plain)))

    def files(self) -> Iterator[Path]:
        """Every file that preparation reads."""
        for paths in self.sets():
            yield from paths

    def unused(self) -> list[str]:
        """Train, valid and test files that preparation does not read, and unsplit text.

        Their languages have no training text, or another file of the same pair takes precedence.
        Files of pairs that were not requested are not included.
        """
        used = {*self.files()}
        paths = sorted(path for path in self.root.iterdir() if path.is_file())
        plain = sorted((self.root / PLAIN).iterdir()) if self.has_plain else []
        split = [path for path in (*paths, *plain) if is_split_file(path.name)]
        further = [path for files in unsplit(paths).values() for path in files.values()]
        unused = (path for path in (*split, *further) if path not in used)
        return [self.named(path) for path in unused if path.name not in self.left_out]


def _further(languages: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """The languages of a set that is parallel over all, if a pair of them has no set of its own."""
    own = set(map(frozenset, pairs))
    needed = {
        language
        for pair in combinations(languages, 2)
        if frozenset(pair) not in own
        for language in pair
    }
    return [language for language in languages if language in needed]


def read_text_folder(
    root: Path, languages: Sequence[str] | None = None, wanted: Sequence[str] = ()
) -> TextFolder:
    """Read the content of `root` and check that it is consistent.

    Args:
        root: the folder of text files.
        languages: their order; by default the order in which the sorted pairs name them.
        wanted: pairs such as `en-de`, in either order, to restrict the folder to (sets that are
            parallel over all languages are always used); by default all.

    Raises:
        UserError: a folder or side is missing, the name of a train, valid or test file has no known
            form, there is no training text, a language or pair is unknown, a file is empty, sides
            differ in their number of lines, or a test set has an empty line.
    """
    if not root.is_dir():
        raise UserError(f"`TEXT` must be a folder of text files; {root} is not one")
    pairs: dict[str, set[Pair]] = {"train": set(), "valid": set(), "test": set()}
    parallel: dict[str, set[str]] = {"valid": set(), "test": set()}
    names = sorted(path.name for path in root.iterdir())
    _check_names(names)
    left_out = _left_out(names, wanted)
    for name in filter(None, map(text_name, set(names) - left_out)):
        if name.pair:
            first, second = name.pair
            pairs[name.split].add((first, second))
        else:
            parallel[name.split].add(name.language)
    if not pairs["train"]:
        if left_out:
            raise UserError(f"`--pairs` must have training text; it is {','.join(wanted)}")
        unsplit_text = unsplit(root / name for name in names)
        advice = f"; {unsplit_advice(unsplit_text, pairs=True)}" if unsplit_text else ""
        raise UserError(
            f"`TEXT` must have train.X-Y.X and train.X-Y.Y; {root} has no such file{advice}"
        )
    train = sorted(pairs["train"])
    if both := next(((a, b) for a, b in train if (b, a) in pairs["train"]), None):
        one, other = "-".join(both), "-".join(reversed(both))
        raise UserError(f"`TEXT` must have a pair once; {root} has train.{one} and train.{other}")
    trained = list(dict.fromkeys(language for pair in train for language in pair))
    # a trained pair's own validation set takes precedence over that of the reverse pair
    turned_round = {(b, a) for a, b in pairs["train"] & pairs["valid"]} - pairs["train"]
    folder = TextFolder(
        root=root,
        languages=_ordered(trained, languages),
        pairs=tuple(train),
        pair_tests=tuple(sorted(p for p in pairs["test"] if set(p) <= set(trained))),
        parallel_tests=tuple(language for language in trained if language in parallel["test"]),
        pair_valids=tuple(
            sorted(p for p in pairs["valid"] - turned_round if set(p) <= set(trained))
        ),
        parallel_valids=tuple(language for language in trained if language in parallel["valid"]),
        has_plain=(root / PLAIN).is_dir(),
        left_out=left_out,
    )
    _check(folder)
    return folder


def _left_out(names: Sequence[str], wanted: Sequence[str]) -> frozenset[str]:
    """The files of pairs that are not requested; empty if no pair is named."""
    if not wanted:
        return frozenset()
    pair_of = {name: parsed.pair for name in names if (parsed := text_name(name)) and parsed.pair}
    present = {frozenset(pair) for pair in pair_of.values()}
    kept = {frozenset(pair.split("-")): pair for pair in wanted}
    if unknown := [pair for languages, pair in kept.items() if languages not in present]:
        named = sorted({"-".join(pair) for pair in pair_of.values()})
        raise UserError(f"`--pairs` must be among {', '.join(named)}; it has {', '.join(unknown)}")
    return frozenset(name for name, pair in pair_of.items() if frozenset(pair) not in kept)


def _check_names(names: Sequence[str]) -> None:
    """Refuse train, valid and test files that would be ignored."""
    unfit, elsewhere = [], []
    for file in filter(is_split_file, names):
        name = text_name(file.removesuffix(".gz"))
        gzip = file.endswith(".gz")
        if is_table(file) or (name and (gzip or (not name.pair and name.split == "train"))):
            elsewhere.append(file)
        elif not name:
            unfit.append(file)
    refuse_unfit(unfit, "TEXT")
    if elsewhere:
        raise UserError(
            "`TEXT` must have training text of pairs, train.X-Y.X, in plain files; it has "
            f"{elsewhere[0]}, which tdo prepare --from can read"
        )


def _ordered(languages: list[str], order: Sequence[str] | None) -> tuple[str, ...]:
    if order is None:
        return tuple(languages)
    if sorted(order) != sorted(languages):
        raise UserError(
            f"`--langs` must name each of {', '.join(languages)} once; it is {','.join(order)}"
        )
    return tuple(order)


def _check(folder: TextFolder) -> None:
    for path in folder.files():
        if not path.is_file():
            raise UserError(f"`TEXT` must have {folder.named(path)}; {folder.root} does not")
    for group in folder.sets():
        counts = [count_lines(path) for path in group]
        for (path, count), (other, other_count) in pairwise(zip(group, counts, strict=True)):
            if count != other_count:
                raise UserError(
                    f"`{folder.named(other)}` must have as many lines as "
                    f"{folder.named(path)} ({count}); "
                    f"it has {other_count}"
                )
        if 0 in counts:
            name = folder.named(group[0])
            raise UserError(f"`{name}` must have at least one line; it is empty")
        for path in group:
            if path.name.startswith("test."):  # no line can be left out
                _check_lines(path, folder.named(path))


def _check_lines(path: Path, name: str) -> None:
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            raise UserError(f"`{name}` line {number} must have text; it is empty")


def count_lines(path: Path) -> int:
    """The number of lines of a file as `read_lines` counts them (newline characters only).

    Raises:
        UserError: the file is in UTF-16, which has other newlines.
    """
    count, last = 0, b"\n"
    with path.open("rb") as stream:
        if stream.read(len(BOM_UTF8)) != BOM_UTF8:
            stream.seek(0)
        while block := stream.read(1 << 20):
            if not count and (block.startswith(UTF_16) or b"\0" in block[:1000]):
                raise UserError(f"`{path}` must be UTF-8 text; it is UTF-16 or not text")
            count += block.count(b"\n")
            last = block
    return count + (not last.endswith(b"\n"))


def line_starts(path: Path, every: int) -> list[int]:
    """Byte offsets of line 0, line `every`, line 2 x `every` and so on."""
    starts, position = [0], 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream):
            if number and number % every == 0:
                starts.append(position)
            position += len(line)
    return starts


def check_encoding(path: Path) -> None:
    """Check a whole file, as `read_lines` checks what it reads.

    Raises:
        UserError: the file is not UTF-8.
    """
    decoder = getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        try:
            while block := stream.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise UserError(f"`{path}` must be UTF-8 text; it is not ({error.reason})") from None


def read_lines(path: Path, start: int = 0) -> Iterator[str]:
    """The lines of a UTF-8 file from byte `start` on, see `lines_of`.

    Raises:
        UserError: the file is not UTF-8.
    """
    with path.open(encoding="utf-8", newline="\n") as stream:
        stream.seek(start)
        yield from lines_of(whole_lines(stream, f"`{path}`"), f"`{path}`", beginning=not start)


def whole_lines(stream: TextIO, name: str) -> Iterator[str]:
    """The lines of an open text, with their newline, in bounded memory.

    Args:
        stream: the text.
        name: of the text in errors.

    Raises:
        UserError: a line has more than `LONGEST` characters.
    """
    lines = iter(partial(stream.readline, LONGEST + 1), "")
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST:
            raise UserError(
                f"{name} must have lines of at most {LONGEST:,} characters; line {number} is longer"
            )
        yield line


def lines_of(stream: Iterable[str], name: str, beginning: bool = True) -> Iterator[str]:
    """The lines of an open UTF-8 text without their newline; only `\\n` ends a line.

    A carriage return inside a line would end the line for other readers, so it becomes a space. A
    byte order mark at the beginning, which editors on Windows write, is removed.

    Args:
        stream: the text, with newlines not translated.
        name: of the text in errors.
        beginning: whether the stream starts at the beginning of the text.

    Raises:
        UserError: the text is not UTF-8.
    """
    mark = BOM_UTF8.decode() if beginning else ""
    try:
        for line in stream:
            line, mark = line.removeprefix(mark), ""
            if line:  # lines have their newline, so only a lone byte order mark leaves none
                yield line.rstrip("\r\n").replace("\r", " ")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} must be UTF-8 text; it is not ({error.reason})") from None
