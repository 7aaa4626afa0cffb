"""Source-by-target heat maps, one panel a system on one scale."""

from __future__ import annotations

import math
import os
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.results import Report

METRICS = {"bleu": "BLEU", "chrf": "chrF++"}
PANELS_A_ROW = 3
MAX_NUMBERED = 24  # with more languages the cells are too small for numbers


def draw(report: Report, languages: tuple[str, ...], path: Path, metric: str = "bleu") -> None:
    """Write a PNG: rows are sources, columns targets, the number in each cell is the score.

    Args:
        report: results of all systems.
        languages: the order of rows and columns; those without a result are left out.
        path: the file, which appears only complete.
        metric: `bleu` or `chrf`.

    Raises:
        UserError: matplotlib is missing.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise UserError(
            "`matplotlib` must be installed for the heat map; it is not (pip install matplotlib)"
        ) from None
    results = [row for rows in report.systems.values() for row in rows]
    tested = {code for row in results for code in row.direction.split("-")}
    shown = [language for language in languages if language in tested]
    grids = {name: _grid(report, name, shown, metric) for name in report.systems}
    values = [v for grid in grids.values() for row in grid for v in row if not math.isnan(v)]
    top = max([1.0, *values])
    across = min(PANELS_A_ROW, len(grids))
    down = -(-len(grids) // across)
    side = 1.6 + 0.55 * len(shown)
    figure, axes = pyplot.subplots(
        down,
        across,
        figsize=(side * across + 0.8, side * down + 0.5),
        squeeze=False,
        layout="constrained",
    )
    image = None
    for axis, (name, grid) in zip(axes.flat, grids.items(), strict=False):
        image = axis.imshow(grid, cmap="viridis", vmin=0, vmax=top)
        axis.set_title(name, fontsize=10)
        axis.set_xticks(range(len(shown)), shown, fontsize=9)
        axis.set_yticks(range(len(shown)), shown, fontsize=9)
        axis.set_xlabel("target")
        axis.set_ylabel("source")
        if len(shown) <= MAX_NUMBERED:
            _number(axis, grid, top)
    for axis in list(axes.flat)[len(grids) :]:
        axis.axis("off")
    figure.colorbar(image, ax=axes, shrink=0.8, label=METRICS[metric])
    partial = path.with_name(path.name + ".partial")
    figure.savefig(partial, dpi=150, format="png")
    pyplot.close(figure)
    os.replace(partial, path)


def _grid(report: Report, system: str, languages: list[str], metric: str) -> list[list[float]]:
    scores = {row.direction: getattr(row.score, metric) for row in report.systems[system]}
    return [[scores.get(f"{s}-{t}", math.nan) for t in languages] for s in languages]


def _number(axis: object, grid: list[list[float]], top: float) -> None:
    for row, values in enumerate(grid):
        for column, value in enumerate(values):
            if not math.isnan(value):
                axis.text(  # type: ignore[attr-defined]
                    column,
                    row,
                    f"{value:.1f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="black" if value > 0.6 * top else "white",
                )
