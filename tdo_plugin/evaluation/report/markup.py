"""Building HTML with automatic escaping."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from tdo_plugin.evaluation.report.table import BETTER, WORSE, Block, Cell, Column, Row, Table

EMPTY = ("img",)  # elements without an end tag
STACKED = ("scores", "seeds")  # tables that a narrow window shows row by row
MARKS = {BETTER: "better", WORSE: "worse"}


class Markup(str):
    """Text that is already HTML."""


def tag(name: str, *children: str | Iterable[str], **attributes: object) -> Markup:
    """An element. Children that are not `Markup` are escaped; so are attributes.

    `class_` is written `class`, `data_value` `data-value`; an attribute that is True has no value,
    attributes that are None or False are omitted.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    inside = "".join(map(_child, children))
    return Markup(f"<{name}{written}>{inside}" + ("" if name in EMPTY else f"</{name}>"))


def _child(child: str | Iterable[str]) -> str:
    if isinstance(child, Markup):
        return child
    return escape(child) if isinstance(child, str) else "".join(map(_child, child))


def html_table(table: Table) -> Markup:
    """A table in a scrollable panel; every block is a `tbody`."""
    body = [_block(table, block) for block in table.blocks]
    caption = tag("caption", table.title, class_="hidden")
    inner = tag("table", caption, tag("thead", _headings(table)), body, data_sort=table.key)
    return tag(
        "div",
        inner,
        class_="panel stacked" if table.key in STACKED else "panel",
        tabindex="0",
        role="region",
        aria_label=f"{table.title}, table",
    )


def _headings(table: Table) -> list[Markup]:
    over = any(column.over for column in table.columns)
    rows = 2 if over else None
    labels = [tag("th", head, scope="col", rowspan=rows) for head in table.heads]
    spans = [
        tag("th", tag("bdi", text), scope="colgroup", colspan=count, data_over=text)
        for text, count in table.spans()
    ]
    names = [
        tag(
            *("th", tag("bdi", column.name)),
            scope="col",
            class_="number first" if first else "number",
            data_over=column.over,
        )
        for column, first in _columns(table)
    ]
    return [tag("tr", labels, spans), tag("tr", names)] if over else [tag("tr", labels, names)]


def _block(table: Table, block: Block) -> Markup:
    width = len(table.heads) + len(table.columns)
    title = tag("th", tag("span", block.title), scope="rowgroup", colspan=width)
    rows = [_row(table, row) for row in block.rows]
    head = [tag("tr", title, class_="block")] if block.title else []
    return tag("tbody", head, rows, class_="published" if block.published else None)


def _row(table: Table, row: Row) -> Markup:
    note = row.note or None
    labels = [tag("th", tag("bdi", label), scope="row", title=note) for label in row.labels]
    cells = [
        _cell(cell, column, first, table.key in STACKED)
        for cell, (column, first) in zip(row.cells, _columns(table), strict=True)
    ]
    return tag("tr", labels, cells)


def _columns(table: Table) -> Iterator[tuple[Column, bool]]:
    """The columns, and whether each is the first under its heading."""
    for column, before in zip(table.columns, (None, *table.columns), strict=False):
        yield column, before is None or column.over != before.over


def _cell(cell: Cell, column: Column, first: bool, labelled: bool) -> Markup:
    text = tag("strong", cell.text) if cell.best else cell.text
    mark = [tag("sup", cell.mark, class_=MARKS.get(cell.mark))] if cell.mark else []
    value = None if cell.value is None else f"{cell.value:.6g}"
    return tag(
        "td",
        *(text, mark),
        class_="first" if first else None,
        data_value=value,
        title=value,
        data_over=column.over or None,
        data_name=column.name if labelled else None,
    )


def details(value: Any) -> Markup:
    """Free-form data: dictionaries as definition lists, lists as lists."""
    if isinstance(value, Mapping):
        rows = [[tag("dt", str(key)), tag("dd", details(inner))] for key, inner in value.items()]
        return tag("dl", *rows, class_="details")
    if isinstance(value, (list, tuple)):
        return tag("ul", [tag("li", details(inner)) for inner in value])
    text = value if isinstance(value, str) else json.dumps(value)
    return tag("span", text, dir="auto")
