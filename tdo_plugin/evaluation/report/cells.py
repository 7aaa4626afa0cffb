"""Cells of a table over axes: the axis values of each system in a score sheet.

`tdo reproduce` writes such files for tables with axes; their keys are the attributes below;
attributes with a default are optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation import published
from tdo_plugin.typed import read_json, typed

MEASURES = ("test", "validation")  # sets on which scores are measured


@dataclass(frozen=True)
class ScoredCell:
    """One cell.

    Attributes:
        name: the cell's name.
        run: its system in the score sheet; cells with equal flags share a system.
        values: its values by axis; empty for a cell outside the grid.
        row: its row name in the published table.
        log: its training log, with the number of parameters; relative to the file's folder.
    """

    name: str
    run: str
    values: dict[str, str] = field(default_factory=dict)
    row: str = ""
    log: str = ""


@dataclass(frozen=True)
class BestOf:
    """The published table to compare the best cells of an axis with, and its rows by value."""

    published: str = ""
    rows: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cells:
    """A table's cells.

    Attributes:
        title: title of the tables.
        axes: values of each axis, in order.
        cells: the cells, in order.
        note: a note below all tables.
        measure: one of `MEASURES`.
        groups: groups or directions to show (default: the group of all directions); the first
            metric of the first group determines the best cell.
        mean_over: an axis to average over; empty for none.
        best: axes for which the best cell for each value is shown.
        published: a paper's table to compare all cells with, such as tlm:9; empty for none.
        every: whether to show a table of all cells.
        seeds: whether a cell's scores are means over systems called `RUN, seed N`.
    """

    title: str
    axes: dict[str, tuple[str, ...]]
    cells: tuple[ScoredCell, ...]
    note: str = ""
    measure: str = "test"
    groups: tuple[str, ...] = ()
    mean_over: str = ""
    best: dict[str, BestOf] = field(default_factory=dict)
    published: str = ""
    every: bool = True
    seeds: bool = False


def read_cells(path: Path) -> Cells:
    """Read a file of cells.

    Raises:
        UserError: the file is invalid or inconsistent.
    """
    try:
        cells: Cells = typed(read_json(path), Cells, "it")
    except OSError as error:
        raise UserError(f"`--cells` must be a file; {path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"`--cells` must be a file of cells; {path} is not: {error}") from None
    if mistake := next(_mistakes(cells), None):
        raise UserError(f"`--cells` must be a consistent file; {path}: {mistake}")
    for key in filter(
        None, (cells.published, *(beside.published for beside in cells.best.values()))
    ):
        published.table(key)
    return cells


def _mistakes(cells: Cells) -> Iterator[str]:
    axes = ", ".join(cells.axes) or "none"
    for axis in (*cells.best, *filter(None, [cells.mean_over])):
        if axis not in cells.axes:
            yield f"best and mean_over must be among the axes ({axes}); {axis} is not"
    if cells.measure not in MEASURES:
        yield f"measure must be {' or '.join(MEASURES)}; it is {cells.measure}"
    names: set[str] = set()
    for cell in cells.cells:
        if cell.name in names:
            yield f"names of cells must differ; two are called {cell.name}"
        names.add(cell.name)
        if cell.values and list(cell.values) != list(cells.axes):
            yield f"a cell must have a value for each axis ({axes}), or none; {cell.name} has not"
        for axis, value in cell.values.items():
            if value not in (values := cells.axes.get(axis, ())):
                yield f"{axis} must be one of {', '.join(values)}; for {cell.name} it is {value}"
