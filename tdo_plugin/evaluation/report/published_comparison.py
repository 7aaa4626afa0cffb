"""Comparison of measured rows with a paper's published rows, in common columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tdo_plugin.evaluation import published
from tdo_plugin.evaluation.groups import SUPERVISED
from tdo_plugin.evaluation.protocols import PROTOCOLS
from tdo_plugin.evaluation.report.quantities import MEASURES, Quantity, quantity_of
from tdo_plugin.evaluation.report.table import Block, Row, Table, score_cells
from tdo_plugin.evaluation.score_sheet import ScoreSheet
from tdo_plugin.evaluation.seeds import has_seeds, over_seeds

NEVER_POOLED = ("perplexity",)  # no sentence statistics to add up


@dataclass(frozen=True)
class Beside:
    """A published table, restricted to the columns of a score sheet.

    Attributes:
        key: such as `tdo:1`.
        title: the paper, the table's number and its caption.
        note: caveats about the published table, if any.
        quantities: the quantities of the columns.
        rows: rows with a number in these columns.
        lost: number of rows without one, as the number is missing from the text or on other data.
    """

    key: str
    title: str
    note: str
    quantities: tuple[Quantity, ...]
    rows: tuple[published.Row, ...]
    lost: int


def chosen(keys: Iterable[str], sheet: ScoreSheet) -> list[str]:
    """The tables to show: the requested ones, else all of the paper whose protocol was used."""
    return [*keys] or ([sheet.protocol] if sheet.protocol in PROTOCOLS else [])


def beside(key: str, sheet: ScoreSheet) -> list[Beside]:
    """Published tables restricted to the columns of the sheet; tables without any are omitted.

    Args:
        key: a paper such as `tdo`, or one of its tables such as `tdo:1`.
        sheet: the measured scores.

    Raises:
        UserError: an unknown paper or table.
    """
    name = key.partition(":")[0]
    paper = published.published(name)
    tables = [published.table(key)] if ":" in key else paper.tables
    measured_tables = [_beside(paper, table, sheet) for table in tables]
    return [table for table in measured_tables if table.rows]


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
    """The sheet's quantity for the same metric and group or direction, if it was measured.

    For a paper that scores a group's test sets as one, this is our pooled score instead of our
    mean, except for metrics that are never pooled.
    """
    direction = column.group.replace(" → ", "-")
    if column.group not in sheet.groups and direction in sheet.directions:
        quantity = quantity_of(column.metric, direction)
    else:
        pooled = PROTOCOLS[paper].pooled and column.metric not in NEVER_POOLED
        quantity = quantity_of(column.metric, _group(column.group, sheet), pooled)
    return quantity if quantity.measured(sheet) else None


def _group(name: str, sheet: ScoreSheet) -> str:
    """The sheet's name for a paper's group: there, `all` exists only if there are other groups."""
    if name != "all" or name in sheet.groups or len(sheet.directions) < 2:
        return name
    whole = (SUPERVISED, "X → Y")
    every = set(sheet.directions)
    return next((group for group in whole if set(sheet.groups.get(group, ())) == every), name)


def beside_table(published_table: Beside, sheet: ScoreSheet) -> Table:
    """The measured rows, then the published rows under the names of their table and block.

    Measured rows are means over the seeds of a system.
    """
    whole = over_seeds(sheet)
    measured = _score_rows(
        [Row((system.name,), ()) for system in whole.systems],
        [quantity.values(whole) for quantity in published_table.quantities],
        published_table.quantities,
        [quantity.complete(whole) for quantity in published_table.quantities],
    )
    blocks = [Block(measured, "this report")]
    name = published_table.title.partition(": ")[0]
    for title, grouped in groupby(published_table.rows, key=lambda row: row.block):
        rows = list(grouped)
        filled = _score_rows(
            [Row((_name(row),), (), row.source or "") for row in rows],
            list(zip(*(row.values for row in rows), strict=True)),
            published_table.quantities,
            [[False] * len(rows)] * len(published_table.quantities),
        )
        blocks.append(Block(filled, ": ".join(filter(None, (name, title))), published=True))
    columns = tuple(quantity.column(sheet) for quantity in published_table.quantities)
    key = f"published-{published_table.key.replace(':', '-')}"
    caption = " ".join(_caption(published_table, sheet))
    return Table(key, published_table.title, ("system",), columns, tuple(blocks), caption)


def _name(row: published.Row) -> str:
    return row.system if row.label == "printed" else f"{row.system} ({row.label})"


def _score_rows(
    rows: Sequence[Row],
    columns: Sequence[Sequence[float | None]],
    quantities: Sequence[Quantity],
    competing: Sequence[Sequence[bool]],
) -> tuple[Row, ...]:
    """The rows with their cells; `columns` and `competing` are by column."""
    cells = [
        score_cells(values, MEASURES[quantity.metric], absent="", competing=part)
        for quantity, values, part in zip(quantities, columns, competing, strict=True)
    ]
    return tuple(
        Row(row.labels, tuple(filled), row.note) for row, *filled in zip(rows, *cells, strict=True)
    )


def _caption(published_table: Beside, sheet: ScoreSheet) -> Iterator[str]:
    yield "Published rows are on the paper's own data; columns have the same group and metric."
    if published_table.key.partition(":")[0] != sheet.protocol:
        yield "The measured rows were not scored with this paper's protocol."
    if has_seeds(sheet):
        yield "The measured rows are means over seeds."
    yield from _differing(published_table, sheet)
    if published_table.note:
        yield published_table.note
    if published_table.lost:
        yield f"Omitted: {published_table.lost} published rows without numbers in these columns."


def _differing(published_table: Beside, sheet: ScoreSheet) -> Iterator[str]:
    """How measured columns that differ slightly from the paper's are computed."""
    metrics = {
        quantity.metric for quantity in published_table.quantities if quantity.group in sheet.groups
    }
    if metrics.intersection(NEVER_POOLED):
        yield "The measured rows' perplexity of several directions is their mean."
    if "accuracy" in metrics:
        yield "The measured rows' language accuracy is 100 minus the off-target rate."
    if "win-ratio" in metrics:
        baselines = ", ".join(
            dict.fromkeys(comparison.baseline for comparison in sheet.comparisons)
        )
        yield (
            "The measured rows' win ratio is the percentage of directions with a better BLEU than "
            f"{baselines}; the paper's is relative to its own baseline."
        )
