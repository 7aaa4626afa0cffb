"""The cells of a grid, and the trainings that they come to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.grid.description import Grid
from tdo_plugin.launch.training_config import Config, read_config, with_lines

OWN = ("grid", "scores", "scored", "slurm")  # what files of the runs' folder begin with


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        name: unique in the grid.
        values: by axis, in order; empty of a cell that is no combination of values.
        config: what it is trained with.
        row: its name in the published table.
    """

    name: str
    values: dict[str, str]
    config: Config
    row: str


@dataclass(frozen=True)
class Run:
    """One training, called as the first of the cells that it is of."""

    name: str
    config: Config
    cells: tuple[str, ...]


def cells_of(grid: Grid) -> tuple[Cell, ...]:
    """Further cells, then all combinations of values; the last axis changes fastest.

    Raises:
        UserError: a config or a line that is not understood; two cells of one name.
    """
    cells = (*_further(grid), *_combined(grid))
    taken: dict[str, str] = {}
    for cell in cells:
        name = cell.name.casefold()  # names become folders, whose case may not count
        if name.partition(".")[0] in OWN:
            raise UserError(
                f"`{grid.path.name}` must have no cell that is called as a file of "
                f"the results; {cell.name} is"
            )
        if name in taken:
            raise UserError(
                f"`{grid.path.name}` must have names by which all cells differ; {taken[name]} and "
                f"{cell.name} do not"
            )
        taken[name] = cell.name
    return cells


def _further(grid: Grid) -> Iterator[Cell]:
    for name, cell in grid.cells.items():
        where = f"`{grid.path.name}` cells.{name}"
        config = _base(cell.base or grid.base, where)
        config = with_lines(config, cell.lines, grid.path, where)
        yield Cell(name, {}, config, cell.row or name)


def _combined(grid: Grid) -> Iterator[Cell]:
    base = _base(grid.base, f"`{grid.path.name}` base")
    for chosen in itertools.product(*grid.axes.values()):
        values = dict(zip(grid.axes, chosen, strict=True))
        dropped = {
            axis for dropping, name in values.items() for axis in grid.axes[dropping][name].drops
        }
        config = base
        for axis, name in values.items():
            if axis not in dropped:
                where = f"`{grid.path.name}` axes.{axis}.{name}"
                config = with_lines(config, grid.axes[axis][name].lines, grid.path, where)
        name = "-".join(chosen)
        yield Cell(name, values, config, grid.row.format_map(values) or name)


def _base(path: Path, where: str) -> Config:
    if not path.is_file():
        raise UserError(f"{where} must name a config file; {path} is not one")
    return read_config(path)


def runs_of(cells: tuple[Cell, ...]) -> tuple[Run, ...]:
    """A run for all cells with the same config, whatever the order of its flags."""
    grouped: list[tuple[Config, list[str]]] = []
    for cell in cells:
        names = next((names for config, names in grouped if config == cell.config), None)
        if names is None:
            grouped.append((cell.config, [cell.name]))
        else:
            names.append(cell.name)
    return tuple(Run(names[0], config, tuple(names)) for config, names in grouped)


def chosen_runs(runs: tuple[Run, ...], only: str | None, task: int | None) -> tuple[Run, ...]:
    """Those of a list of cells, or the one of a number, in the grid's order; else all.

    Raises:
        UserError: there is no such cell or number.
    """
    if task is not None:
        if not 0 <= task < len(runs):
            raise UserError(f"`--task` must be from 0 to {len(runs) - 1}; it is {task}")
        return (runs[task],)
    if only is None:
        return runs
    requested = [name.strip() for name in only.split(",")]
    cell_names = {cell for run in runs for cell in run.cells}
    for name in requested:
        if name not in cell_names:
            raise UserError(f"`--only` must name cells (tdo grid list has them); {name} is none")
    return tuple(run for run in runs if set(run.cells).intersection(requested))
