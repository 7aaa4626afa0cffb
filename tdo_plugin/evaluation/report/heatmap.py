"""Source-by-target heat maps as figures, one panel per system with a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tdo_plugin.evaluation.report.report_files import grid, languages_of
from tdo_plugin.evaluation.report.table import heading, number
from tdo_plugin.evaluation.score_sheet import METRICS, Metric, ScoreSheet
from tdo_plugin.runtime.files import replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

Cells = dict[tuple[int, int], float]  # by index of target and source

PANELS_A_ROW = 3
MAX_NUMBERED = 24  # with more languages the cells are too small for numbers
NUMBERED_CELL, PLAIN_CELL = 0.42, 0.13  # inches
DPI = 150


def available() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(sheet: ScoreSheet, metric: str, paths: Sequence[Path]) -> None:
    """Draw one metric: rows are sources, columns targets, one panel for each system with scores.

    Brighter is always better, also for metrics where lower is better. The files are written
    atomically; their suffixes determine the format (`.png`, `.pdf`).
    """
    figure = _figure(sheet, metric)
    for path in paths:
        with replaced(path) as partial:
            _save(figure, partial, path.suffix)


def _figure(sheet: ScoreSheet, metric: str) -> Figure:
    from matplotlib.figure import Figure

    measure, codes = METRICS[metric], languages_of(sheet)
    cells = {system.name: _cells(sheet, system.name, metric) for system in sheet.systems}
    shown = {name: panel for name, panel in cells.items() if panel}
    values = [value for panel in shown.values() for value in panel.values()]
    across = min(PANELS_A_ROW, len(shown))
    down = -(-len(shown) // across)
    side = 0.7 + (NUMBERED_CELL if len(codes) <= MAX_NUMBERED else PLAIN_CELL) * len(codes)
    figure = Figure((side * across + 1.2, side * down + 0.4), dpi=DPI, layout="compressed")
    axes = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    drawn = []
    for axis, (name, panel) in zip(axes, shown.items(), strict=False):
        drawn.append(_draw_cells(axis, panel, measure, (min(values), max(values))))
        _label(axis, name, codes)
    axes[0].set_ylim(len(codes), 0)
    for axis in axes[::across]:
        axis.set_ylabel("source")
    for axis in axes[len(shown) :]:
        axis.axis("off")
    figure.colorbar(
        drawn[0], ax=axes, label=heading(measure), fraction=0.05, pad=0.01, aspect=30, shrink=0.7
    )
    figure.draw_without_rendering()  # lay out before adding the many numbers, which need no space
    figure.set_layout_engine("none")
    if len(codes) <= MAX_NUMBERED:
        for axis, squares, panel in zip(axes, drawn, shown.values(), strict=False):
            _number(axis, squares, panel, measure)
    return figure


def _cells(sheet: ScoreSheet, system: str, metric: str) -> Cells:
    return {
        (x, y): value
        for y, row in enumerate(grid(sheet, system, metric))
        for x, value in enumerate(row)
        if value is not None
    }


def _draw_cells(
    axis: Axes, cells: Cells, measure: Metric, limits: tuple[float, float]
) -> PolyCollection:
    from matplotlib.collections import PolyCollection

    corners = [[(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)] for x, y in cells]
    squares = PolyCollection(
        corners,
        array=list(cells.values()),
        cmap="viridis" if measure.higher_is_better else "viridis_r",
        clim=limits,
        edgecolors="white",
        linewidths=0.3,
    )
    axis.add_collection(squares)
    return squares


def _label(axis: Axes, name: str, codes: list[str]) -> None:
    numbered = len(codes) <= MAX_NUMBERED
    places = [index + 0.5 for index in range(len(codes))]
    axis.set_title(name, fontsize=10, parse_math=False)
    axis.set_xlim(0, len(codes))
    axis.set_xticks(places, codes, rotation=0 if numbered else 90)
    axis.set_yticks(places, codes)
    axis.set_xlabel("target")
    axis.set_aspect("equal")
    axis.set_facecolor("#f4f6f8")  # missing directions
    axis.tick_params(length=0, labelsize=8 if numbered else 5)
    axis.spines[:].set_visible(False)


def _number(axis: Axes, squares: PolyCollection, cells: Cells, measure: Metric) -> None:
    for (x, y), value in cells.items():
        red, green, blue, _ = squares.to_rgba(np.array([value]))[0]
        bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45
        axis.text(
            x + 0.5,
            y + 0.5,
            number(value, min(1, measure.digits)),
            ha="center",
            va="center",
            fontsize=7,
            color="black" if bright else "white",
        )


def _save(figure: Figure, path: Path, suffix: str) -> None:
    """Render once per file (`savefig` renders twice), without dates, so that files are stable."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    if suffix == ".pdf":
        FigureCanvasPdf(figure).print_pdf(path, metadata={"CreationDate": None})
    else:
        figure.dpi = DPI
        FigureCanvasAgg(figure).print_png(path)
