"""The published numbers of the five papers, one JSON file per paper.

Every number was read from the text that its file names, or from the row's own source if it has one.
Numbers missing from the text are None; the table's note says why.
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
    """The content of a column.

    Attributes:
        group: the group as in score sheets if it is the same (`en → X`, `zero-shot`), a single
            direction (`de → fr`), or another subject (`model`).
        metric: a key of `scores.METRICS` if it is the same quantity, else its name and unit.
    """

    group: str
    metric: str


@dataclass(frozen=True)
class Row:
    """One system's numbers.

    Attributes:
        block: the part of the table, often data and model size; may be empty.
        system: the system's name, unique in its block.
        values: one number per column, in the paper's scale; None if missing from the text.
        label: how `system` is known: `printed`, `derived` (from other places of the paper), or
            `analogy` (from the order of similar rows, without further evidence).
        source: where the numbers were read, if not in the paper's table.
    """

    block: str
    system: str
    values: tuple[float | None, ...]
    label: str = "printed"
    source: str | None = None

    @property
    def name(self) -> str:
        """The row's name, unique in its table."""
        return f"{self.block}: {self.system}" if self.block else self.system


@dataclass(frozen=True)
class Table:
    """A table of a paper, with its number; `note` has caveats, if any."""

    table: str
    caption: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def value(self, row: str, group: str, metric: str) -> float | None:
        """A number by row name and column; None if missing from the text.

        Raises:
            KeyError: an unknown row or column.
        """
        values = {table_row.name: table_row.values for table_row in self.rows}[row]
        return dict(zip(self.columns, values, strict=True))[Column(group, metric)]


@dataclass(frozen=True)
class Paper:
    """A paper's tables; `paper` is its short name, `text` the text that was read."""

    paper: str
    key: str
    text: str
    tables: tuple[Table, ...]


def paper_keys() -> tuple[str, ...]:
    """The keys of the papers, which are those with a protocol."""
    return tuple(PROTOCOLS)


@cache
def published(key: str) -> Paper:
    """A paper by its key.

    Raises:
        UserError: an unknown key.
    """
    if key not in paper_keys():
        raise UserError(f"`--published` must name one of {', '.join(paper_keys())}; it is {key}")
    data = json.loads(Path(__file__).with_name(f"{key}.json").read_text(encoding="utf-8"))
    return Paper(**{**data, "tables": tuple(_table(entry) for entry in data["tables"])})


def table(reference: str) -> Table:
    """A table by paper and number, such as `tdo:1`.

    Raises:
        UserError: an unknown paper or table.
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
