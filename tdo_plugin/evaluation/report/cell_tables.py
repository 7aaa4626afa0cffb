"""Results of cells as tables, and as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from tdo_plugin.evaluation.report.cell_results import Best, CellResult, Mean, Printed, Results
from tdo_plugin.evaluation.report.latex import latex
from tdo_plugin.evaluation.report.quantities import MEASURES, Quantity
from tdo_plugin.evaluation.report.report_files import write_rows
from tdo_plugin.evaluation.report.table import (
    ABSENT,
    Block,
    Cell,
    Column,
    Row,
    Table,
    mean_cells,
    number,
    score_cells,
)
from tdo_plugin.evaluation.report.text_tables import escape_markdown, markdown
from tdo_plugin.runtime.files import write_text


def all_cells(results: Results) -> Table:
    """A row for each cell, labelled by the axes; missing measurements are shown as absent."""
    axes = tuple(results.table.axes)
    theirs = _published(results.published, [result.cell.row for result in results.cells])
    rows = [
        Row(_labels(result, axes), (*measured, *paper))
        for result, measured, paper in zip(
            results.cells, _columns(results, results.cells), theirs, strict=True
        )
    ]
    further = sum(not result.cell.values for result in results.cells)
    blocks = (Block(tuple(rows[:further])), Block(tuple(rows[further:])))
    return Table(
        "grid",
        results.table.title,
        axes,
        (*_headings(results), *_published_headings(results, results.published)),
        tuple(block for block in blocks if block.rows),
        " ".join((*_caption(results), *_note(results))),
    )


def tables_of(results: Results) -> list[Table]:
    """The requested tables: all cells, means over an axis, and the best cells by axis."""
    over = results.table.mean_over
    every = [all_cells(results)] if results.table.every else []
    means = [means_over(results, over)] if over else []
    return [*every, *means, *(best_by(results, axis) for axis in results.table.best)]


def best_by(results: Results, axis: str) -> Table:
    """The best cell for each value of an axis, with its other values, below cells without axes."""
    axes = (axis, *(name for name in results.table.axes if name != axis))
    further = [
        Best("", result.cell.row, result) for result in results.cells if not result.cell.values
    ]
    shown = [*further, *results.best(axis)]
    printed = results.best_published.get(axis, Printed())
    measured = _columns(results, [entry.result for entry in shown])
    theirs = _published(printed, [entry.row for entry in shown])
    rows = [
        Row(
            _labels(entry.result, axes) if entry.result else _alone(entry.value, axes),
            (*cells, Cell(f"{entry.scored}/{entry.of}" if entry.of else ""), *paper),
        )
        for entry, cells, paper in zip(shown, measured, theirs, strict=True)
    ]
    first = results.quantities[0]
    return Table(
        f"best-{axis}",
        f"{results.table.title}: best by {axis}",
        axes,
        (
            *_headings(results),
            Column("cells", "scored"),
            *_published_headings(results, printed),
        ),
        (Block(tuple(rows)),),
        " ".join(
            (
                f"The cell with the best {MEASURES[first.metric].name} for each {axis}; ties are "
                "decided by the next column. All scores of a row are from the same cell.",
                *_of_the_paper(printed),
                *_note(results),
            )
        ),
    )


def means_over(results: Results, axis: str) -> Table:
    """Means and spreads over the values of an axis; the best mean over all cells is marked."""
    means = results.means(axis)
    columns = [
        mean_cells(
            [mean.scores(quantity) for mean in means],
            MEASURES[quantity.metric],
            [mean.complete(quantity) for mean in means],
        )
        for quantity in results.quantities
    ]
    rows = [
        Row((*mean.values.values(), f"{sum(map(_whole, mean.cells))}/{len(mean.cells)}"), cells)
        for mean, cells in zip(means, zip(*columns, strict=True), strict=True)
    ]
    return Table(
        f"mean-{axis}",
        f"{results.table.title}: means over {axis}",
        (*(name for name in results.table.axes if name != axis), "cells"),
        tuple(quantity.column(results.sheet) for quantity in results.quantities),
        (Block(tuple(rows)),),
        " ".join(
            (
                f"Means over {axis}, ± the standard deviation (n − 1).",  # noqa: RUF001
                *_note(results),
            )
        ),
    )


def _labels(result: CellResult, axes: Sequence[str]) -> tuple[str, ...]:
    if not result.cell.values:
        return _alone(result.cell.name, axes)
    return tuple(result.cell.values[axis] for axis in axes)


def _alone(name: str, axes: Sequence[str]) -> tuple[str, ...]:
    """Labels of a row without values of the other axes."""
    return (name, *[ABSENT] * (len(axes) - 1))


def _headings(results: Results) -> list[Column]:
    measured = [quantity.column(results.sheet) for quantity in results.quantities]
    return [*measured, Column("model", "parameters (M)")]


def _published_headings(results: Results, printed: Printed) -> list[Column]:
    source = printed.title.partition(": ")[0]
    columns = [quantity.column(results.sheet) for quantity in printed.quantities]
    return [Column(f"{source}: {column.over}", column.name) for column in columns]


def _columns(results: Results, chosen: Sequence[CellResult | None]) -> list[list[Cell]]:
    """The cells of each row: scores, with the best of each column marked, then parameters."""
    scores = [
        score_cells(
            [result.score(quantity) if result else None for result in chosen],
            MEASURES[quantity.metric],
        )
        for quantity in results.quantities
    ]
    sizes = [_size(result.parameters if result else None) for result in chosen]
    return [list(row) for row in zip(*scores, sizes, strict=True)]


def _size(parameters: int | None) -> Cell:
    return Cell(ABSENT) if parameters is None else Cell(number(parameters / 1e6, 1), parameters)


def _published(printed: Printed, names: Sequence[str]) -> list[list[Cell]]:
    """The paper's cells for rows with these names."""
    cells = [
        score_cells(
            [printed.row(name).get(quantity) for name in names],
            MEASURES[quantity.metric],
            absent="",
        )
        for quantity in printed.quantities
    ]
    return [[column[index] for column in cells] for index in range(len(names))]


def _caption(results: Results) -> Iterator[str]:
    if results.table.measure == "validation":
        yield "Scores are on validation sets, measured during training."
    if results.table.seeds:
        yield "Scores are means over seeds."
    missing = [result.cell.name for result in results.cells if not _whole(result)]
    if missing:
        yield f"Without scores: {', '.join(missing)}."
    shared = [
        f"{result.cell.name} = {result.cell.run}"
        for result in results.cells
        if result.cell.name != result.cell.run
    ]
    if shared:
        yield f"Cells with the same flags, trained once: {', '.join(shared)}."
    yield from _of_the_paper(results.published)


def _of_the_paper(printed: Printed) -> Iterator[str]:
    if printed.rows:
        yield "Published numbers are on the paper's own data."
    if printed.note:
        yield printed.note


def _note(results: Results) -> Iterator[str]:
    if results.table.note:
        yield results.table.note


def _whole(result: CellResult) -> bool:
    return any(value is not None for value in result.scores.values())


def write(results: Results, folder: Path) -> Iterator[Path]:
    """Write all tables, and yield each file when it is written."""
    tables = tables_of(results)
    texts: dict[str, Callable[[], str]] = {
        "grid.md": lambda: "\n\n".join(_markdown(table) for table in tables),
        "grid.tex": lambda: "\n".join(
            ["% \\usepackage{booktabs}", *(latex(each, [each.caption]) for each in tables)]
        ),
        "grid.json": lambda: json.dumps(as_json(results), indent=1, ensure_ascii=False),
    }
    for name, text in texts.items():
        write_text(folder / name, [text().rstrip("\n")])
        yield folder / name
    head, rows = as_rows(results)
    write_rows(folder / "grid.csv", head, rows)
    yield folder / "grid.csv"


def _markdown(table: Table) -> str:
    parts = (f"# {escape_markdown(table.title)}", markdown(table), escape_markdown(table.caption))
    return "\n\n".join(part for part in parts if part)


def as_rows(results: Results) -> tuple[list[str], list[list[object]]]:
    """A header, and an unrounded row for each cell; None where there is no value."""
    axes = list(results.table.axes)
    paper = [f"published {_key(quantity)}" for quantity in results.published.quantities]
    head = ["cell", "run", *axes, *map(_key, results.quantities), "parameters", *paper]
    rows: list[list[object]] = [
        [
            *(result.cell.name, result.cell.run),
            *(result.cell.values.get(axis) for axis in axes),
            *(result.score(quantity) for quantity in results.quantities),
            result.parameters,
            *map(results.published.row(result.cell.row).get, results.published.quantities),
        ]
        for result in results.cells
    ]
    return head, rows


def _key(quantity: Quantity) -> str:
    return f"{quantity.metric} {quantity.group}{', pooled' * quantity.pooled}"


def _keyed(values: Mapping[Quantity, float | None]) -> dict[str, float | None]:
    return {_key(quantity): value for quantity, value in values.items()}


def as_json(results: Results) -> dict[str, Any]:
    """All results, with the best cells by name."""
    over = results.table.mean_over
    return {
        "title": results.table.title,
        "measure": results.table.measure,
        "axes": {axis: list(values) for axis, values in results.table.axes.items()},
        "published": results.published.title or None,
        "cells": [
            {
                "cell": result.cell.name,
                "run": result.cell.run,
                "values": result.cell.values,
                "scores": _keyed(result.scores),
                "parameters": result.parameters,
                "published": _keyed(results.published.row(result.cell.row)),
            }
            for result in results.cells
        ],
        "means": [
            {"values": mean.values, "cells": [result.cell.name for result in mean.cells]}
            | {"scores": _mean_scores(mean, results.quantities)}
            for mean in (results.means(over) if over else ())
        ],
        "best": {
            axis: {
                best.value: best.result.cell.name if best.result else None
                for best in results.best(axis)
            }
            for axis in results.table.best
        },
    }


def _mean_scores(mean: Mean, quantities: Sequence[Quantity]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation of each quantity that has a score."""
    scores = {_key(quantity): mean.scores(quantity) for quantity in quantities}
    return {
        key: {"mean": fmean(values)} | ({"stdev": stdev(values)} if len(values) > 1 else {})
        for key, values in scores.items()
        if values
    }
