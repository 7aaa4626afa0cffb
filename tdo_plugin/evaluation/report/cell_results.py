"""Results of cells: scores, published numbers, and the best cell for each value of an axis."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.report.cells import BestOf, Cells, ScoredCell
from tdo_plugin.evaluation.report.published_comparison import beside
from tdo_plugin.evaluation.report.quantities import Quantity
from tdo_plugin.evaluation.report.report_tables import shows_pooled
from tdo_plugin.evaluation.score_sheet import METRICS, ScoreSheet
from tdo_plugin.evaluation.seeds import over_seeds

PARAMETERS = re.compile(rb"num\. shared model params: ([\d,]+)")
BEGINNING = 1 << 20  # bytes of a log to search for the parameters


@dataclass(frozen=True)
class Printed:
    """A published table, restricted to measured columns; `rows` are by name."""

    title: str = ""
    note: str = ""
    quantities: tuple[Quantity, ...] = ()
    rows: dict[str, dict[Quantity, float | None]] = field(default_factory=dict)

    def row(self, name: str) -> dict[Quantity, float | None]:
        """A row by name; empty if the paper does not have it."""
        return self.rows.get(name, {})


@dataclass(frozen=True)
class CellResult:
    """A cell's scores by quantity (None if missing), and its model's parameters, if known."""

    cell: ScoredCell
    scores: dict[Quantity, float | None]
    parameters: int | None = None

    def score(self, quantity: Quantity) -> float | None:
        """The value of a quantity."""
        return self.scores.get(quantity)


@dataclass(frozen=True)
class Best:
    """The best cell for a value of an axis.

    Attributes:
        value: the value.
        row: the value's row name in the published table of the axis.
        result: the best cell, if any has a score.
        scored: number of cells with a score.
        of: number of cells.
    """

    value: str
    row: str
    result: CellResult | None
    scored: int = 0
    of: int = 0


@dataclass(frozen=True)
class Mean:
    """Cells that differ only in one axis, and their common values; each run counts once."""

    values: dict[str, str]
    cells: tuple[CellResult, ...]

    def scores(self, quantity: Quantity) -> list[float]:
        """The existing scores of a quantity."""
        scores = (cell.score(quantity) for cell in self.cells)
        return [score for score in scores if score is not None]

    def complete(self, quantity: Quantity) -> bool:
        """Whether every cell has a score."""
        return len(self.scores(quantity)) == len(self.cells)


@dataclass(frozen=True)
class Results:
    """All cells of a table. The first quantity determines the best cell.

    `published` is the published table for all cells, `best_published` those for best cells, by
    axis.
    """

    table: Cells
    sheet: ScoreSheet
    quantities: tuple[Quantity, ...]
    cells: tuple[CellResult, ...]
    published: Printed = Printed()
    best_published: dict[str, Printed] = field(default_factory=dict)

    def best(self, axis: str) -> list[Best]:
        """The best cell for each value of an axis, over all other axes.

        Ties in the first quantity are decided by the next; among equal cells, the first is chosen.
        """
        entries = []
        rows = self.table.best.get(axis, BestOf()).rows
        for value in self.table.axes[axis]:
            cells = [result for result in self.cells if result.cell.values.get(axis) == value]
            scored = [result for result in cells if result.score(self.quantities[0]) is not None]
            best = max(scored, key=self._goodness, default=None)
            entries.append(Best(value, rows.get(value, ""), best, len(scored), len(cells)))
        return entries

    def means(self, axis: str) -> list[Mean]:
        """The cells over all values of an axis, for each combination of the other axes' values."""
        by_others: dict[tuple[tuple[str, str], ...], dict[str, CellResult]] = {}
        for result in self.cells:
            if result.cell.values:
                other_values = {
                    name: value for name, value in result.cell.values.items() if name != axis
                }
                runs = by_others.setdefault(tuple(other_values.items()), {})
                runs.setdefault(result.cell.run, result)
        return [
            Mean(dict(other_values), tuple(runs.values()))
            for other_values, runs in by_others.items()
        ]

    def _goodness(self, result: CellResult) -> list[float]:
        """Sort key, higher is better, of rounded scores, so that equal displayed scores tie."""
        goodness = []
        for quantity in self.quantities:
            metric, value = METRICS[quantity.metric], result.score(quantity)
            shown = -math.inf if value is None else round(value, metric.digits)
            goodness.append(shown if metric.higher_is_better or value is None else -shown)
        return goodness


def quantities(sheet: ScoreSheet, groups: Sequence[str]) -> tuple[Quantity, ...]:
    """The columns: each metric for each group, as a pooled score if the protocol reports one.

    Args:
        sheet: the scores.
        groups: groups or directions of the sheet; empty for the group of all directions.

    Raises:
        UserError: the sheet lacks a group.
    """
    names = [*sheet.groups, *sheet.directions]
    for group in groups:
        if group not in names:
            raise UserError(f"`groups` must be among {', '.join(names)}; it has {group}")
    return tuple(
        _quantity(sheet, metric, group)
        for metric in sheet.metrics
        for group in groups or [_whole(sheet)]
    )


def _whole(sheet: ScoreSheet) -> str:
    """The direction if there is only one, else the group of all directions."""
    if len(sheet.directions) == 1:
        return sheet.directions[0]
    return "all" if "all" in sheet.groups else next(iter(sheet.groups))


def printed(where: str, table: str, names: Sequence[str], sheet: ScoreSheet) -> Printed:
    """A published table restricted to the columns of `sheet`; empty if there are none.

    Args:
        where: the place of the names, for messages.
        table: such as `tlm:9`; empty for none.
        names: row names of the cells; names that the table lacks have no numbers.
        sheet: the measured scores.

    Raises:
        UserError: an unknown table, or none of the names is one of its rows.
    """
    comparisons = beside(table, sheet) if table else []
    if not comparisons:
        return Printed()
    comparison = comparisons[0]
    rows = {
        row.name: dict(zip(comparison.quantities, row.values, strict=True))
        for row in comparison.rows
    }
    if not rows.keys() & set(names):
        raise UserError(
            f"`{where}` must be names of rows of {table}, such as {next(iter(rows))}; "
            f"{names[-1]} is not"
        )
    return Printed(comparison.title, comparison.note, comparison.quantities, rows)


def _quantity(sheet: ScoreSheet, metric: str, group: str) -> Quantity:
    pooled = Quantity(metric, group, shows_pooled(sheet) and group in sheet.groups)
    return pooled if pooled.measured(sheet) else Quantity(metric, group)


def gather(table: Cells, sheet: ScoreSheet, folder: Path) -> Results:
    """Collect the results of all cells.

    Args:
        table: the cells.
        sheet: scores of their systems, possibly incomplete.
        folder: the folder to which the cells' log paths are relative.

    Raises:
        UserError: a group that the sheet lacks, no cell's system in the sheet, or a published
            table without any row of the cells.
    """
    sheet = over_seeds(sheet) if table.seeds else sheet
    columns = quantities(sheet, table.groups)
    scored = {system.name for system in sheet.systems}
    if not scored.intersection(cell.run for cell in table.cells):
        raise UserError("`SCORES` must have systems of the cells; it has none")
    rows = [cell.row for cell in table.cells]
    return Results(
        table,
        sheet,
        columns,
        tuple(
            CellResult(
                cell,
                {
                    quantity: quantity.of(sheet, cell.run) if cell.run in scored else None
                    for quantity in columns
                },
                _parameters(folder / cell.log) if cell.log else None,
            )
            for cell in table.cells
        ),
        printed("row", table.published, rows, sheet),
        {
            axis: printed(f"best.{axis}", best.published, [*rows, *best.rows.values()], sheet)
            for axis, best in table.best.items()
        },
    )


def _parameters(log: Path) -> int | None:
    """The model's number of parameters, from its training log."""
    try:
        with log.open("rb") as stream:
            match = PARAMETERS.search(stream.read(BEGINNING))
    except OSError:
        return None
    return int(match[1].replace(b",", b"")) if match else None
