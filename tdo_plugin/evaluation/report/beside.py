"""A paper's published rows beside the measured ones, in the columns that both have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tdo_plugin.evaluation import published
from tdo_plugin.evaluation.protocols import PROTOCOLS
from tdo_plugin.evaluation.report.table import Block, Row, Table, score_cells
from tdo_plugin.evaluation.report.tables import Quantity
from tdo_plugin.evaluation.scores import METRICS, ScoreSheet


@dataclass(frozen=True)
class Beside:
    """Of a published table, what a sheet has too.

    Attributes:
        key: `tdo:1`.
        title: the paper, the table's number and its caption.
        note: what a reader must know of the published table, if anything.
        quantities: of the columns.
        rows: those with a figure in these columns.
        lost: how many rows have none, because the paper's text lost them or they are of other data.
    """

    key: str
    title: str
    note: str
    quantities: tuple[Quantity, ...]
    rows: tuple[published.Row, ...]
    lost: int


def chosen(keys: Iterable[str], sheet: ScoreSheet) -> list[str]:
    """Which tables to show: those asked for, else all of the paper whose protocol was used."""
    return [*keys] or ([sheet.protocol] if sheet.protocol in PROTOCOLS else [])


def beside(key: str, sheet: ScoreSheet) -> list[Beside]:
    """Published tables with the columns that the sheet has; none of those without any.

    Args:
        key: a paper such as `tdo`, or one of its tables such as `tdo:1`.
        sheet: what was measured.

    Raises:
        UserError: there is no such paper or table.
    """
    name = key.partition(":")[0]
    paper = published.published(name)
    tables = [published.table(key)] if ":" in key else paper.tables
    found = [_beside(paper, table, sheet) for table in tables]
    return [one for one in found if one.rows]


def _beside(paper: published.Paper, table: published.Table, sheet: ScoreSheet) -> Beside:
    kept = {
        index: quantity
        for index, column in enumerate(table.columns)
        if (quantity := _quantity(column, paper.key, sheet))
    }
    rows = [
        published.Row(row.block, row.system, values, row.label, row.source)
        for row in table.rows
        if (values := tuple(row.values[index] for index in kept)) and any(map(_known, values))
    ]
    return Beside(
        key=f"{paper.key}:{table.table}",
        title=f"{paper.paper}, Table {table.table}: {table.caption}",
        note=table.note,
        quantities=tuple(kept.values()),
        rows=tuple(rows),
        lost=len(table.rows) - len(rows),
    )


def _known(value: float | None) -> bool:
    return value is not None


def _quantity(column: published.Column, paper: str, sheet: ScoreSheet) -> Quantity | None:
    """The sheet's quantity of the same group or direction and metric, if it was measured.

    A paper that scores a group's test sets as one is met by our pooled score, not by our mean.
    """
    direction = column.group.replace(" → ", "-")
    if column.group not in sheet.groups and direction in sheet.directions:
        quantity = Quantity(column.metric, direction)
    else:
        quantity = Quantity(column.metric, column.group, PROTOCOLS[paper].pooled)
    return quantity if quantity.measured(sheet) else None


def beside_table(one: Beside, sheet: ScoreSheet) -> Table:
    """The measured rows, then the published ones, each under the name of its table and block."""
    measured = _score_rows(
        [Row((system.name,), ()) for system in sheet.systems],
        [quantity.values(sheet) for quantity in one.quantities],
        one.quantities,
        compete=True,
    )
    blocks = [Block(measured, "this report")]
    name = one.title.partition(": ")[0]
    for title, grouped in groupby(one.rows, key=lambda row: row.block):
        rows = list(grouped)
        filled = _score_rows(
            [Row((_name(row),), (), row.source or "") for row in rows],
            list(zip(*(row.values for row in rows), strict=True)),
            one.quantities,
            compete=False,
        )
        blocks.append(Block(filled, ": ".join(filter(None, (name, title))), published=True))
    columns = tuple(quantity.column(sheet) for quantity in one.quantities)
    key = f"published-{one.key.replace(':', '-')}"
    caption = " ".join(_caption(one, sheet))
    return Table(key, one.title, ("system",), columns, tuple(blocks), caption)


def _name(row: published.Row) -> str:
    return row.system if row.label == "printed" else f"{row.system} ({row.label})"


def _score_rows(
    rows: Sequence[Row],
    columns: Sequence[Sequence[float | None]],
    quantities: Sequence[Quantity],
    compete: bool,
) -> tuple[Row, ...]:
    """The rows with their cells; the values come by column."""
    cells = [
        score_cells(values, METRICS[quantity.metric], absent="", compete=compete)
        for quantity, values in zip(quantities, columns, strict=True)
    ]
    return tuple(
        Row(row.labels, tuple(filled), row.note) for row, *filled in zip(rows, *cells, strict=True)
    )


def _caption(one: Beside, sheet: ScoreSheet) -> Iterator[str]:
    yield "Published rows are of the paper's own data; columns are of the same group and metric."
    if one.key.partition(":")[0] != sheet.protocol:
        yield "The measured rows were not scored by this paper's protocol."
    if one.note:
        yield one.note
    if one.lost:
        yield f"Left out as they have no figure here: {one.lost} published rows."
