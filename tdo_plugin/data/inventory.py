"""Statistics of binarised sets: sentences, tokens, unknown tokens and lengths.

A set `train.en-de` has a side for each language, `train.en-de.en.idx` with the sentences' lengths
and `.bin` with their tokens (fairseq's `--dataset-impl mmap`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from tdo_compat.binarised import check_other_side, open_side, words_of
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.names import LANGUAGE as _CODE

# upper bounds, in tokens, of the bars of a length histogram; longer sentences are in an extra bar
BOUNDS = (*range(10, 101, 10), 150, 200, 300, 500, 1000)
UNKNOWN = 3  # id in every fairseq dictionary, after <s>, <pad> and </s>
CHUNK = 1 << 22  # tokens read at a time

_INDEX = re.compile(rf"([a-z]+\d*)\.({_CODE})-({_CODE})\.({_CODE})\.idx")


@dataclass(frozen=True)
class Side:
    """Statistics of one language of a set, or of several sets together.

    Attributes:
        sentences: number.
        tokens: number of pieces, without end symbols.
        unknown: number of these that are not in the dictionary.
        longest: tokens of the longest sentence.
        lengths: number of sentences by length, see `BOUNDS`.
    """

    sentences: int = 0
    tokens: int = 0
    unknown: int = 0
    longest: int = 0
    lengths: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)

    def __add__(self, other: Side) -> Side:
        return Side(
            self.sentences + other.sentences,
            self.tokens + other.tokens,
            self.unknown + other.unknown,
            max(self.longest, other.longest),
            tuple(map(add, self.lengths, other.lengths)),
        )


@dataclass(frozen=True)
class BinarisedSet:
    """A split of a language pair; both directions use it."""

    split: str
    pair: tuple[str, str]
    sides: Mapping[str, Side]


def read_sets(folders: Sequence[Path]) -> list[BinarisedSet]:
    """Every binarised set, sorted by split and pair.

    Args:
        folders: shards of one data set, as in fairseq; training sets of a pair are added up,
            other sets come from the first folder.

    Raises:
        UserError: there is none, or a side is missing.
        DamagedData: a file has changed.
    """
    sets: dict[tuple[str, tuple[str, str]], BinarisedSet] = {}
    for folder in folders:
        for binarised in _sets_of(folder):
            if folder != folders[0] and not binarised.split.startswith("train"):
                continue
            key = binarised.split, binarised.pair
            sets[key] = _together(sets[key], binarised) if key in sets else binarised
    if not sets:
        raise UserError(f"`DATA` must have binarised sets; {folders[0]} has none")
    return [sets[key] for key in sorted(sets)]


def _sets_of(folder: Path) -> Iterator[BinarisedSet]:
    names = {_INDEX.fullmatch(path.name) for path in folder.glob("*.idx")}
    sets = {(match[1], (match[2], match[3])) for match in names if match}
    for split, pair in sorted(sets):
        prefix = f"{split}.{'-'.join(pair)}"
        sides = {language: read_side(folder / f"{prefix}.{language}") for language in pair}
        yield BinarisedSet(split, pair, sides)


def _together(first: BinarisedSet, second: BinarisedSet) -> BinarisedSet:
    sides = {language: side + second.sides[language] for language, side in first.sides.items()}
    return replace(first, sides=sides)


def read_side(prefix: Path) -> Side:
    """One side of a set, whose index and tokens are checked.

    Memory stays small: both files are memory-mapped and read in parts.

    Args:
        prefix: path of the two files without `.idx` and `.bin`.

    Raises:
        UserError: a file is missing.
        DamagedData: a file has changed.
    """
    path = str(prefix)
    try:
        side = open_side(path)
        check_other_side(path, len(side.sizes))
        if (words := words_of(path)) is not None:
            side.check_tokens(words)
    except OSError as error:
        raise UserError(
            f"`DATA` must have {error.filename}; opening it gave: {error.strerror}"
        ) from None
    sizes = side.sizes
    lengths = sizes - 1  # without the end symbol
    bars = np.bincount(np.searchsorted(BOUNDS, lengths), minlength=len(BOUNDS) + 1)
    return Side(
        sentences=len(sizes),
        tokens=len(side.tokens) - len(sizes),
        unknown=sum(int((block == UNKNOWN).sum()) for block in _blocks(side.tokens)),
        longest=int(lengths.max(initial=0)),
        lengths=tuple(map(int, bars)),
    )


def _blocks(tokens: np.ndarray) -> Iterator[np.ndarray]:
    for begin in range(0, len(tokens), CHUNK):
        yield tokens[begin : begin + CHUNK]


def by_language(sets: Iterable[BinarisedSet], split: str) -> dict[str, Side]:
    """Each language's side of a split over all pairs; text of two pairs counts twice."""
    sides: dict[str, list[Side]] = {}
    for binarised in sets:
        if binarised.split == split:
            for language, side in binarised.sides.items():
                sides.setdefault(language, []).append(side)
    return {language: reduce(add, parts) for language, parts in sides.items()}


def by_direction(sets: Iterable[BinarisedSet], split: str) -> dict[str, tuple[Side, Side]]:
    """Source and target side of each direction of a split.

    A direction uses its own set if both directions of a pair have one, as in fairseq.
    """
    result = {}
    for binarised in sets:
        if binarised.split == split:
            first, second = (binarised.sides[language] for language in binarised.pair)
            result["-".join(binarised.pair)] = first, second
            result.setdefault("-".join(binarised.pair[::-1]), (second, first))
    return result


def as_json(data: DataFolder, sets: Sequence[BinarisedSet]) -> dict[str, Any]:
    """All numbers, by direction and by language."""
    splits = list(dict.fromkeys(binarised.split for binarised in sets))
    directions: dict[str, dict[str, Any]] = {}
    for split in splits:
        for direction, (source, target) in by_direction(sets, split).items():
            directions.setdefault(direction, {"kind": data.kind(direction)})[split] = {
                "sentences": source.sentences,
                "source_tokens": source.tokens,
                "target_tokens": target.tokens,
            }
    languages: dict[str, dict[str, Any]] = {language: {} for language in data.languages}
    for split in splits:
        for language, side in by_language(sets, split).items():
            languages.setdefault(language, {})[split] = asdict(side)
    return {
        "data": str(data.root),
        "directions": directions,
        "languages": languages,
        "length_bounds": list(BOUNDS),
    }
