"""A table independent of its output format: terminal, Markdown, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean, stdev

from tdo_plugin.evaluation.score_sheet import Difference, Metric

ABSENT = "–"  # noqa: RUF001 (the dash for a missing number)
MINUS = "−"  # noqa: RUF001 (as wide as a plus)
BETTER, WORSE = "▲", "▼"  # marks of significant differences from the baseline
LEVEL = 0.05  # a difference with a lower p is significant


@dataclass(frozen=True)
class Cell:
    """One entry.

    Attributes:
        text: the displayed, rounded text.
        value: the unrounded number, for sorting; None if the entry is not a number.
        best: whether it is the best of its column.
        mark: a significance mark, or empty.
    """

    text: str
    value: float | None = None
    best: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """A column's heading; adjacent columns with the same `over` share it."""

    over: str
    name: str


@dataclass(frozen=True)
class Row:
    """A row: one label for each of the table's `heads`, one cell per column, and a remark."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    note: str = ""


@dataclass(frozen=True)
class Block:
    """Rows that belong together; `published` marks the numbers of a paper."""

    rows: tuple[Row, ...]
    title: str = ""
    published: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its title, and a caption on how to read it."""

    key: str
    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    caption: str = ""

    def spans(self) -> list[tuple[str, int]]:
        """The upper headings with the number of columns that each spans."""
        grouped = groupby(self.columns, key=lambda column: column.over)
        return [(over, len(list(columns))) for over, columns in grouped]


def heading(metric: Metric, pooled: bool = False) -> str:
    """A metric's name with an arrow for the better direction."""
    return f"{metric.name}{', pooled' * pooled} {'↑' if metric.higher_is_better else '↓'}"


def number(value: float, digits: int, signed: bool = False) -> str:
    """A rounded number; zero has no sign."""
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text.replace("-", MINUS)


def p_value(p: float) -> str:
    """p with three decimals, or `< 0.001`."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def significance(tested: Difference, metric: Metric) -> str:
    """The mark of a difference; empty unless it is significant and can be seen after rounding."""
    system, baseline, difference = (
        round(value, metric.digits) for value in (tested.system, tested.baseline, tested.difference)
    )
    if tested.p >= LEVEL or system == baseline or not difference:
        return ""
    return BETTER if (difference > 0) == metric.higher_is_better else WORSE


def score_cells(
    values: Sequence[float | None],
    metric: Metric,
    marks: Iterable[str] = (),
    absent: str = ABSENT,
    competing: Sequence[bool] | None = None,
) -> list[Cell]:
    """Cells of competing scores, with the best marked.

    Scores are compared after rounding, so equal displayed scores tie; if all are equal, none is
    marked. `competing` tells which scores take part (default: all).
    """
    shown = [None if value is None else round(value, metric.digits) for value in values]
    takes_part = competing or [True] * len(values)
    present = [
        value for value, part in zip(shown, takes_part, strict=True) if part and value is not None
    ]
    best = None
    if len(set(present)) > 1:
        best = max(present) if metric.higher_is_better else min(present)
    all_marks = [*marks] or [""] * len(values)
    return [
        Cell(absent)
        if value is None
        else Cell(number(value, metric.digits), value, part and rounded == best, mark)
        for value, rounded, mark, part in zip(values, shown, all_marks, takes_part, strict=True)
    ]


def with_spread(cell: Cell, values: Sequence[float], metric: Metric) -> Cell:
    """A mean's cell with the standard deviation (n - 1) of its values, if there are several."""
    if len(values) < 2:
        return cell
    return replace(cell, text=f"{cell.text} ± {number(stdev(values), metric.digits)}")


def mean_cells(
    values: Sequence[Sequence[float]], metric: Metric, competing: Sequence[bool]
) -> list[Cell]:
    """Cells of means with spreads; the best of the competing means is marked."""
    means = [fmean(scores) if scores else None for scores in values]
    cells = score_cells(means, metric, competing=competing)
    return [with_spread(cell, scores, metric) for cell, scores in zip(cells, values, strict=True)]
