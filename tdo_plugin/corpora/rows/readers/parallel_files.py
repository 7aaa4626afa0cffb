"""Two texts, one in each language, aligned by the order of their sentences."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from tdo_plugin.corpora.description.schema import ConcreteSet, Row
from tdo_plugin.corpora.rows.readers.lines import one_line, read_lines
from tdo_plugin.errors import UserError

_SEGMENT = re.compile(r"<seg\b[^>]*>([^<]*(?:<(?!/seg)[^<]*)*)</seg\s*>", re.IGNORECASE)
_OPENED = re.compile(r"<seg\b", re.IGNORECASE)
# with the semicolon: many such files contain a bare &, and HTML's &copy or &para need none
_REFERENCE = re.compile(r"&#?\w+;")


def parallel(members: Sequence[Sequence[Path]], concrete_set: ConcreteSet) -> Iterator[Row]:
    """Sentence i of one side with sentence i of the other.

    Args:
        members: the files of each side.
        concrete_set: the set, with its format, encoding and options.

    Raises:
        UserError: the sides have different numbers of files or sentences.
    """
    first, second = members
    if len(first) != len(second):
        raise UserError(
            f"`{concrete_set.members[1].path}` must match as many files as "
            f"{concrete_set.members[0].path} ({len(first)}); it matches {len(second)}"
        )
    for paths in zip(first, second, strict=True):
        yield from _matched(
            paths, [SIDES[concrete_set.format](path, concrete_set) for path in paths]
        )


def _matched(paths: Sequence[Path], sides: Sequence[Iterator[str]]) -> Iterator[Row]:
    for count, row in enumerate(zip_longest(*sides)):
        if None in row:
            longer = row.index(None) ^ 1
            total = count + 1 + sum(1 for _ in sides[longer])
            raise UserError(
                f"`{paths[longer ^ 1]}` must have as many sentences as {paths[longer].name} "
                f"({total}); it has {count}"
            )
        yield row  # type: ignore[misc]  # of two sides


def _lines(path: Path, concrete_set: ConcreteSet) -> Iterator[str]:
    return read_lines(path, concrete_set.encoding)


def _tagged(path: Path, concrete_set: ConcreteSet) -> Iterator[str]:
    """IWSLT's training text: lines of sentences between lines that begin with a tag."""
    names = "|".join(map(re.escape, concrete_set.options.get("keep", ())))
    kept = re.compile(rf"<({names})>(.*?)(?:</\1>)?")
    for line in read_lines(path, concrete_set.encoding):
        # one side may have spaces before its tags where the other has none
        text = line.strip()
        if not text.startswith("<"):
            yield text
        elif names and (match := kept.fullmatch(text)):
            yield match[2].strip()


def _segments(path: Path, concrete_set: ConcreteSet) -> Iterator[str]:
    """The test sets of WMT and IWSLT, read by line since not all are well-formed XML."""
    for number, line in enumerate(read_lines(path, concrete_set.encoding), 1):
        segments = _SEGMENT.findall(line)
        if len(segments) < len(_OPENED.findall(line)):
            raise UserError(f"`{path}` line {number} must close its <seg>; it does not")
        for text in segments:
            yield one_line(_REFERENCE.sub(lambda match: html.unescape(match[0]), text))


# format -> the sentences of one side
SIDES: dict[str, Callable[[Path, ConcreteSet], Iterator[str]]] = {
    "lines": _lines,
    "tagged": _tagged,
    "segments": _segments,
}
