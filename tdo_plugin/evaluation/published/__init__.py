"""The figures of the five papers as data: one JSON file a paper, read here.

Every figure was read in the text that its file names or, where a row has a source of its own, in
that source. What the text lost is None; the table's note says why.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.protocols import PROTOCOLS


@dataclass(frozen=True)
class Column:
    """What a column holds.

    Attributes:
        group: as score sheets name it where it is the same (`en → X`, `zero-shot`), one direction
            (`de → fr`), or what else the figures are of (`model`).
        metric: a key of `scores.METRICS` where it is that quantity, else its name and unit.
    """

    group: str
    metric: str


@dataclass(frozen=True)
class Row:
    """One system's figures.

    Attributes:
        block: the part of the table, often data and model size; may be empty.
        system: unique in its block.
        values: one for each column, in the scale of the paper; None where the text lost it.
        label: how `system` is known: `printed`, `derived` (from other places of the paper), or
            `analogy` (from the order of like rows, which nothing else confirms).
        source: where the figures were read, if not in the paper's table.
    """

    block: str
    system: str
    values: tuple[float | None, ...]
    label: str = "printed"
    source: str | None = None

    @property
    def name(self) -> str:
        """Unique in its table."""
        return f"{self.block}: {self.system}" if self.block else self.system


@dataclass(frozen=True)
class Table:
    """A table of a paper, with its number there; `note` is what a reader must know, if anything."""

    table: str
    caption: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def value(self, row: str, group: str, metric: str) -> float | None:
        """A figure by its row's name; None where the text lost it.

        Raises:
            KeyError: there is no such row or column.
        """
        values = {table_row.name: table_row.values for table_row in self.rows}[row]
        return dict(zip(self.columns, values, strict=True))[Column(group, metric)]


@dataclass(frozen=True)
class Paper:
    """A paper's tables; `paper` is its short name and `text` what the figures were read in."""

    paper: str
    key: str
    text: str
    tables: tuple[Table, ...]


def paper_keys() -> tuple[str, ...]:
    """The papers, which are those that have a protocol."""
    return tuple(PROTOCOLS)


@cache
def published(key: str) -> Paper:
    """A paper by its key.

    Raises:
        UserError: there is none of that key.
    """
    if key not in paper_keys():
        raise UserError(f"`--published` must name one of {', '.join(paper_keys())}; it is {key}")
    data = json.loads(Path(__file__).with_name(f"{key}.json").read_text(encoding="utf-8"))
    return Paper(**{**data, "tables": tuple(_table(entry) for entry in data["tables"])})


def table(reference: str) -> Table:
    """A table by paper and number, such as `tdo:1`.

    Raises:
        UserError: there is no such paper or table.
    """
    key, _, number = reference.partition(":")
    tables = {entry.table: entry for entry in published(key).tables}
    if number not in tables:
        available = ", ".join(f"{key}:{name}" for name in tables)
        raise UserError(f"`--published` must be one of {available}; it is {reference}")
    return tables[number]


def _table(data: dict[str, Any]) -> Table:
    return Table(
        **{
            **data,
            "columns": tuple(Column(**column) for column in data["columns"]),
            "rows": tuple(Row(**{**row, "values": tuple(row["values"])}) for row in data["rows"]),
        }
    )
