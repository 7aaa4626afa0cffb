"""Reads the rows of a source's files in any of the formats.

Everything is streamed. A file with several pairs is read again for each, so memory depends neither
on the size of a file nor on the number of its languages.
"""

from __future__ import annotations

import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from tdo_plugin.corpora.description.schema import ConcreteSet, Member, Row
from tdo_plugin.corpora.rows.readers.parallel_files import SIDES, parallel
from tdo_plugin.corpora.rows.readers.tab_separated import multiway_tsv, tsv
from tdo_plugin.corpora.rows.readers.tmx import tmx
from tdo_plugin.corpora.rows.seen import dealt

__all__ = ["read"]

# format -> the reader of a text with both languages
_TEXTS: dict[str, Callable[[Path, ConcreteSet, Counter[str]], Iterator[Row]]] = {
    "tsv": tsv,
    "multiway-tsv": multiway_tsv,
    "tmx": tmx,
}


def read(
    concrete_set: ConcreteSet,
    files: Mapping[Member, Sequence[Path]],
    scratch: Path | None = None,
    left_out: Counter[str] | None = None,
) -> Iterator[Row]:
    """The rows of a set in the order of its pair; no side of a row has a line break.

    `rows` selects by number as the rows are read; `deal` then counts the selected rows.

    Args:
        concrete_set: the set.
        files: the files of each member, to be concatenated; with two members, file i of one
            belongs to file i of the other.
        scratch: folder for temporary files if rows are dealt; None for the system's.
        left_out: counts the rows that a table has but that are not used, by reason.

    Raises:
        UserError: a file is damaged or not in the encoding or format, the sides have different
            numbers of sentences, or a column or language is missing.
    """
    left_out = Counter() if left_out is None else left_out
    members = [files[member] for member in concrete_set.members]
    if concrete_set.format in SIDES:
        rows = parallel(members, concrete_set)
    else:
        rows = (
            row
            for path in members[0]
            for row in _TEXTS[concrete_set.format](path, concrete_set, left_out)
        )
    rows = _chosen(rows, concrete_set.rows)
    if concrete_set.deal is None:
        return rows
    return dealt(rows, concrete_set.deal, scratch or Path(tempfile.gettempdir()))


def _chosen(rows: Iterable[Row], which: str) -> Iterator[Row]:
    """all, first:N, last:N or without:N:M of the rows; all are read, so all are checked."""
    kind, *numbers = which.split(":")
    return _CHOICES[kind](iter(rows), *map(int, numbers))


def _first(rows: Iterator[Row], count: int) -> Iterator[Row]:
    yield from islice(rows, count)
    deque(rows, maxlen=0)


def _last(rows: Iterator[Row], count: int) -> Iterator[Row]:
    yield from deque(rows, maxlen=count)


def _without(rows: Iterator[Row], first: int, last: int) -> Iterator[Row]:
    deque(islice(rows, first), maxlen=0)
    held = deque(islice(rows, last))
    for row in rows:
        held.append(row)
        yield held.popleft()


_CHOICES: dict[str, Callable[..., Iterator[Row]]] = {
    "all": lambda rows: rows,
    "first": _first,
    "last": _last,
    "without": _without,
}
