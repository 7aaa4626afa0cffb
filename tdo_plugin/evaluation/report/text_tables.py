"""Tables as text: for a terminal and as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from tdo_plugin.evaluation.report.table import Cell, Row, Table

BOLD, PLAIN = "\033[1m", "\033[0m"


def terminal(table: Table, width: int, bold: bool) -> str:
    """The table with columns aligned on the last digit, split into parts that fit the width.

    Args:
        table: the table.
        width: terminal width in characters; a part is wider only if a single heading's columns are.
        bold: show the best scores in bold; otherwise a star follows them.
    """
    parts = [_Part(table, start, stop, bold) for start, stop in _parts(table, width, bold)]
    return "\n\n".join("\n".join(part.lines()) for part in parts)


def _parts(table: Table, width: int, bold: bool) -> Iterator[tuple[int, int]]:
    """Ranges of columns that fit, never split within a heading's span."""
    start = stop = 0
    for _, count in table.spans():
        if stop > start and _Part(table, start, stop + count, bold).width() > width:
            yield start, stop
            start = stop
        stop += count
    yield start, stop


class _Part:
    """Some columns of a table, with all labels."""

    def __init__(self, table: Table, start: int, stop: int, bold: bool) -> None:
        self.table = table
        self.bold = bold
        self.columns = table.columns[start:stop]
        self.rows = [
            (block, [Row(row.labels, row.cells[start:stop]) for row in block.rows])
            for block in table.blocks
        ]
        rows = [row for _, rows in self.rows for row in rows]
        self.tails = [
            max((len(self._tail(row.cells[i])) for row in rows), default=0)
            for i in range(len(self.columns))
        ]
        self.label_widths = [
            max(map(_width, (head, *(row.labels[i] for row in rows))))
            for i, head in enumerate(table.heads)
        ]
        self.widths = [
            max(_width(column.name), *(_width(row.cells[i].text) + tail for row in rows), 0)
            for i, (column, tail) in enumerate(zip(self.columns, self.tails, strict=True))
        ]
        self._widen_for_spans()

    def _widen_for_spans(self) -> None:
        first = 0
        for over, count in self._spans():
            lack = _width(over) - sum(self.widths[first : first + count]) - 2 * (count - 1)
            self.widths[first] += max(0, lack)
            first += count

    def _spans(self) -> list[tuple[str, int]]:
        return Table("", "", (), tuple(self.columns), ()).spans()

    def _tail(self, cell: Cell) -> str:
        return cell.mark + ("*" if cell.best and not self.bold else "")

    def width(self) -> int:
        """The width of a line in characters."""
        widths = self.label_widths + self.widths
        return sum(widths) + 2 * (len(widths) - 1)

    def lines(self) -> Iterator[str]:
        """Headings, a rule, and the rows, blocks under their titles."""
        labels = [
            _left(head, w) for head, w in zip(self.table.heads, self.label_widths, strict=True)
        ]
        if any(column.over for column in self.columns):
            yield "  ".join([*(" " * w for w in self.label_widths), *self._over()]).rstrip()
        names = [_right(c.name, w) for c, w in zip(self.columns, self.widths, strict=True)]
        yield "  ".join([*labels, *names]).rstrip()
        yield "─" * self.width()
        for block, rows in self.rows:
            if block.title:
                yield block.title
            for row in rows:
                yield self._row(row)

    def _over(self) -> Iterator[str]:
        first = 0
        for over, count in self._spans():
            yield _right(over, sum(self.widths[first : first + count]) + 2 * (count - 1))
            first += count

    def _row(self, row: Row) -> str:
        labels = [_left(text, w) for text, w in zip(row.labels, self.label_widths, strict=True)]
        cells = []
        for cell, width, room in zip(row.cells, self.widths, self.tails, strict=True):
            text = _right(cell.text, width - room) + _left(self._tail(cell), room)
            cells.append(f"{BOLD}{text}{PLAIN}" if cell.best and self.bold else text)
        return "  ".join([*labels, *cells]).rstrip()


def _left(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _right(text: str, width: int) -> str:
    return " " * (width - _width(text)) + text


def _width(text: str) -> int:
    """The width in terminal columns: wide characters take two, combining characters none."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def markdown(table: Table) -> str:
    """A Markdown table; headings are in one row, and a block's title is a separate row."""
    heads = [*table.heads, *(f"{column.over} {column.name}".strip() for column in table.columns)]
    lines = [
        _markdown_row([escape_markdown(head) for head in heads]),
        _markdown_row(["---"] * len(table.heads) + ["---:"] * len(table.columns)),
    ]
    for block in table.blocks:
        if block.title:
            filling = [""] * (len(heads) - 1)
            lines.append(_markdown_row([f"*{escape_markdown(block.title)}*", *filling]))
        for row in block.rows:
            labels = [escape_markdown(label) for label in row.labels]
            lines.append(_markdown_row([*labels, *map(_markdown_cell, row.cells)]))
    return "\n".join(lines)


def _markdown_cell(cell: Cell) -> str:
    return (f"**{cell.text}**" if cell.best else escape_markdown(cell.text)) + cell.mark


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", " ".join(text.split()))
