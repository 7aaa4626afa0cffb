"""Cells of a table over axes: which system of a score sheet has which values.

`tdo reproduce` writes such files for tables with axes; their keys are the attributes below, of
which those that have a default may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation import published
from tdo_plugin.typed import read_json, typed

MEASURES = ("test", "validation")  # sets that scores are of


@dataclass(frozen=True)
class ScoredCell:
    """One cell.

    Attributes:
        name: its own.
        run: its system in the score sheet; cells of equal flags share one.
        values: by axis; of a cell that is no combination of values empty.
        row: its name in the published table.
        log: of its training, which says how many parameters the model has; from the file's folder.
    """

    name: str
    run: str
    values: dict[str, str] = field(default_factory=dict)
    row: str = ""
    log: str = ""


@dataclass(frozen=True)
class BestOf:
    """What stands beside the best cells of an axis: a published table, and by value its rows."""

    published: str = ""
    rows: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cells:
    """A table's cells.

    Attributes:
        title: above the tables.
        axes: their values, in order.
        cells: in order.
        note: below all tables.
        measure: of `MEASURES`.
        groups: groups or directions that are shown (default: all directions as one); by the first
            metric of the first it is said which cell is best.
        mean_over: an axis, over whose values there are means; empty for none.
        best: axes, for each value of which the best cell is shown.
        published: a paper's table beside all cells, such as tlm:9; empty for none.
        every: whether there is a table of all cells.
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
        UserError: it is none, or contradicts itself.
    """
    try:
        cells: Cells = typed(read_json(path), Cells, "it")
    except OSError as error:
        raise UserError(f"`--cells` must be a file; {path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"`--cells` must be a file of cells; {path} is not: {error}") from None
    if mistake := next(_mistakes(cells), None):
        raise UserError(f"`--cells` must be a file without contradictions; {path}: {mistake}")
    for key in filter(
        None, (cells.published, *(beside.published for beside in cells.best.values()))
    ):
        published.table(key)
    return cells


def _mistakes(cells: Cells) -> Iterator[str]:
    axes = ", ".join(cells.axes) or "there is none"
    for axis in (*cells.best, *filter(None, [cells.mean_over])):
        if axis not in cells.axes:
            yield f"best and mean_over must be of axes ({axes}); {axis} is none"
    if cells.measure not in MEASURES:
        yield f"measure must be {' or '.join(MEASURES)}; it is {cells.measure}"
    names: set[str] = set()
    for cell in cells.cells:
        if cell.name in names:
            yield f"names of cells must differ; two are called {cell.name}"
        names.add(cell.name)
        if cell.values and list(cell.values) != list(cells.axes):
            yield f"a cell must have a value of each axis ({axes}), or none; {cell.name} has not"
        for axis, value in cell.values.items():
            if value not in (values := cells.axes.get(axis, ())):
                yield f"{axis} must be of {', '.join(values)}; of {cell.name} it is {value}"
