"""What a grid's cells come to: their scores, what a paper has, and the best for each value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.report.published_comparison import beside
from tdo_plugin.evaluation.report.quantities import Quantity
from tdo_plugin.evaluation.report.report_tables import shows_pooled
from tdo_plugin.evaluation.score_sheet import METRICS, ScoreSheet
from tdo_plugin.grid.cells import Cell
from tdo_plugin.grid.description import Grid


@dataclass(frozen=True)
class Printed:
    """A published table in the columns that were measured; `rows` are by name."""

    title: str = ""
    note: str = ""
    quantities: tuple[Quantity, ...] = ()
    rows: dict[str, dict[Quantity, float | None]] = field(default_factory=dict)

    def row(self, name: str) -> dict[Quantity, float | None]:
        """A row; empty where the paper has none of this name."""
        return self.rows.get(name, {})


@dataclass(frozen=True)
class CellResult:
    """A cell with the run that it shares with others.

    Attributes:
        cell: which.
        run: name of its run.
        state: how far that is, or what is wrong with it.
        scores: by quantity; None where it has none.
        parameters: of the model; None where nobody knows.
    """

    cell: Cell
    run: str
    state: str
    scores: dict[Quantity, float | None]
    parameters: int | None = None

    def score(self, quantity: Quantity) -> float | None:
        """Its value of a quantity."""
        return self.scores.get(quantity)


@dataclass(frozen=True)
class Best:
    """A value of an axis, the best of its cells, how many have a score, and of how many.

    `row` is the value's name in the published table of the axis.
    """

    value: str
    row: str
    result: CellResult | None
    scored: int
    of: int


@dataclass(frozen=True)
class Mean:
    """Cells that differ in one axis only, and the values that they share; a run counts once."""

    values: dict[str, str]
    cells: tuple[CellResult, ...]

    def scores(self, quantity: Quantity) -> list[float]:
        """Of those that have one."""
        scores = (cell.score(quantity) for cell in self.cells)
        return [score for score in scores if score is not None]

    def complete(self, quantity: Quantity) -> bool:
        """Whether every cell has a score."""
        return len(self.scores(quantity)) == len(self.cells)


@dataclass(frozen=True)
class Results:
    """All cells of a grid. The first of the quantities says which is best.

    `published` is the table beside all cells, and `best_published` those beside the best, by axis.
    """

    grid: Grid
    sheet: ScoreSheet
    quantities: tuple[Quantity, ...]
    cells: tuple[CellResult, ...]
    published: Printed = Printed()
    best_published: dict[str, Printed] = field(default_factory=dict)

    def best(self, axis: str) -> list[Best]:
        """For each value of an axis the best cell over all others.

        Where the first quantity is equal the next decides; of equal cells it is the first.
        """
        entries = []
        published = self.grid.best.get(axis)
        for value in self.grid.axes[axis]:
            cells = [result for result in self.cells if result.cell.values.get(axis) == value]
            scored = [result for result in cells if result.score(self.quantities[0]) is not None]
            best = max(scored, key=self._goodness, default=None)
            row = published.name({axis: value}) if published else ""
            entries.append(Best(value, row, best, len(scored), len(cells)))
        return entries

    def means(self, axis: str) -> list[Mean]:
        """For each combination of the other axes' values its cells, over all values of an axis."""
        by_others: dict[tuple[tuple[str, str], ...], dict[str, CellResult]] = {}
        for result in self.cells:
            if result.cell.values:
                other_values = {
                    name: value for name, value in result.cell.values.items() if name != axis
                }
                by_others.setdefault(tuple(other_values.items()), {}).setdefault(result.run, result)
        return [
            Mean(dict(other_values), tuple(runs.values()))
            for other_values, runs in by_others.items()
        ]

    def _goodness(self, result: CellResult) -> list[float]:
        """More is better; as they are shown, so that what rounds alike is equally good."""
        goodness = []
        for quantity in self.quantities:
            metric, value = METRICS[quantity.metric], result.score(quantity)
            shown = -math.inf if value is None else round(value, metric.digits)
            goodness.append(shown if metric.higher_is_better or value is None else -shown)
        return goodness


def quantities(sheet: ScoreSheet, groups: Sequence[str]) -> tuple[Quantity, ...]:
    """The columns: each metric of each group, a pooled score where the protocol reports one.

    Args:
        sheet: the scores.
        groups: groups or directions of it; none: all directions as one.

    Raises:
        UserError: the sheet has no such group.
    """
    names = [*sheet.groups, *sheet.directions]
    for group in groups:
        if group not in names:
            raise UserError(f"`groups` must be of {', '.join(names)}; it has {group}")
    return tuple(
        _quantity(sheet, metric, group)
        for metric in sheet.metrics
        for group in groups or [_whole(sheet)]
    )


def _whole(sheet: ScoreSheet) -> str:
    """The direction if there is one, else the group of all."""
    if len(sheet.directions) == 1:
        return sheet.directions[0]
    return "all" if "all" in sheet.groups else next(iter(sheet.groups))


def printed(key: str, table: str, names: Sequence[str], sheet: ScoreSheet) -> Printed:
    """A published table in the columns that `sheet` has; empty where it has none of them.

    Args:
        key: of the grid's file, which gives the names.
        table: such as `tlm:9`.
        names: of its rows, as the grid has them; one that it lacks stays without figures.
        sheet: what was measured.

    Raises:
        UserError: there is no such table, or none of the names is one of its rows.
    """
    comparisons = beside(table, sheet)
    if not comparisons:
        return Printed()
    comparison = comparisons[0]
    rows = {
        row.name: dict(zip(comparison.quantities, row.values, strict=True))
        for row in comparison.rows
    }
    if not rows.keys() & set(names):
        raise UserError(
            f"`{key}` must come to names of rows of {table}, such as {next(iter(rows))}; "
            f"it comes to {names[-1]}"
        )
    return Printed(comparison.title, comparison.note, comparison.quantities, rows)


def _quantity(sheet: ScoreSheet, metric: str, group: str) -> Quantity:
    pooled = Quantity(metric, group, shows_pooled(sheet) and group in sheet.groups)
    return pooled if pooled.measured(sheet) else Quantity(metric, group)


def gather(
    grid: Grid,
    cells: Sequence[Cell],
    runs: Mapping[str, str],
    states: Mapping[str, str],
    parameters: Mapping[str, int | None],
    sheet: ScoreSheet,
    table: str | None,
) -> Results:
    """Bring all together.

    Args:
        grid: of which.
        cells: all of its cells.
        runs: by cell, its run.
        states: by run, how far it is.
        parameters: by run, its model's.
        sheet: scores of those runs that have been translated.
        table: a published one, such as `tlm:9`.

    Raises:
        UserError: a group that the sheet lacks, or a published table without any row of the grid's.
    """
    columns = quantities(sheet, grid.groups)
    scored = {system.name for system in sheet.systems}
    return Results(
        grid,
        sheet,
        columns,
        tuple(
            CellResult(
                cell,
                run := runs[cell.name],
                states[run],
                {
                    quantity: quantity.of(sheet, run) if run in scored else None
                    for quantity in columns
                },
                parameters[run],
            )
            for cell in cells
        ),
        printed("row", table, [cell.row for cell in cells], sheet) if table else Printed(),
        {
            axis: printed(
                f"best.{axis}.row",
                comparison.published,
                [comparison.name({axis: value}) for value in grid.axes[axis]],
                sheet,
            )
            for axis, comparison in grid.best.items()
        },
    )
