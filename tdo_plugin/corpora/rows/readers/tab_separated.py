"""Tab-separated texts without quoting, one column per language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tdo_plugin.corpora.description.schema import ConcreteSet, Row
from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.errors import UserError

MORE = "more columns than the first line"


def tsv(path: Path, concrete_set: ConcreteSet, left_out: Counter[str]) -> Iterator[Row]:
    """A table without a header; the option `columns` gives the languages' columns.

    Statmt's tables have lines with fewer columns between articles and elsewhere. Missing columns
    are empty; but if the first non-blank line lacks one, the file is refused. A line with more
    columns than the first has a tab in a sentence, and is left out.

    Args:
        path: of the file.
        concrete_set: the set.
        left_out: counts the lines that are left out, by reason.

    Raises:
        UserError: `columns` lacks a language, or the file lacks a column.
    """
    columns = concrete_set.options.get("columns", {})
    for language in concrete_set.pair:
        if language not in columns:
            raise UserError(
                f"`columns` must name {language}; it names {', '.join(columns) or 'nothing'}"
            )
    first, second = (columns[language] for language in concrete_set.pair)
    needed = max(first, second) + 1
    width = used = 0
    for number, line in enumerate(read_lines(path, concrete_set.encoding), 1):
        cells = line.split("\t")
        if not width and len(cells) >= needed:
            width = len(cells)
        if line.strip() and not width:
            raise _width(path, number, f"{needed} columns or more", len(cells))
        if any(map(str.strip, cells[width:])) and width:
            left_out[MORE] += 1
            continue
        used += 1
        cells += [""] * (needed - len(cells))
        yield cells[first], cells[second]
    if left_out[MORE] > used:
        raise UserError(
            f"`{path}` must have at most {width} columns, as its first line, in most lines; "
            f"{left_out[MORE]} lines have more"
        )


def multiway_tsv(path: Path, concrete_set: ConcreteSet, _: Counter[str]) -> Iterator[Row]:
    """A table whose header has the languages' codes in the source (Qi et al., 2018).

    Raises:
        UserError: the header lacks a language, or a line and the header differ in length.
    """
    lines = read_lines(path, concrete_set.encoding)
    header = [cell.strip() for cell in next(lines, "").split("\t")]
    for code in concrete_set.codes:
        if code not in header:
            raise UserError(f"`{path}` line 1 must name {code}; it names {', '.join(header)}")
    first, second = map(header.index, concrete_set.codes)
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(header):
            raise _width(path, number, f"the header's {len(header)} columns", len(cells))
        yield cells[first], cells[second]


def _width(path: Path, number: int, expected: str, width: int) -> UserError:
    return UserError(f"`{path}` line {number} must have {expected}; it has {width}")
