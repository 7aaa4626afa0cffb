"""A figure of the growth of costs, with a panel for each series of comparisons."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speed.measuring import Measurement
from speed.plan import OURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 4
PANEL = (3.0, 2.6)  # inches
DPI = 150
COLOURS = {"two-stream": "#1b6ca8", "concatenating": "#c8553d", "stock": "#6b705c"}
COSTS = {
    "training": "training time per token",
    "decoding": "decoding time per sentence",
    "memory": "peak training memory",
}


def draw(measurements: Sequence[Measurement], title: str, path: Path) -> None:
    """Draw every series, and write the file atomically.

    The cost of our system at the first value of a series is 1. Lines connect medians, bars show the
    minimum and maximum over rounds.

    Args:
        measurements: measurements of comparisons with an axis, consecutive for each series.
        title: the title of the figure.
        path: the file, `.svg` or `.png`.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        _figure(measurements, title).savefig(partial, format=path.suffix[1:])
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _figure(measurements: Sequence[Measurement], title: str) -> Figure:
    from matplotlib.figure import Figure

    series = [
        list(group)
        for _, group in groupby(
            measurements,
            lambda measurement: (measurement.comparison.kind, measurement.comparison.axis),
        )
    ]
    columns = min(COLUMNS, len(series))
    rows = -(-len(series) // columns)
    size = columns * PANEL[0], rows * PANEL[1] + 0.6
    figure = Figure(size, dpi=DPI, layout="constrained")
    unit = f"1: {OURS} at the first value of a panel"
    figure.suptitle(f"{title} ({unit})", fontsize=9, parse_math=False)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, points in zip(panels, series, strict=False):
        _draw(panel, points)
    for panel in panels[len(series) :]:
        panel.set_visible(False)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw(panel: Any, points: Sequence[Measurement]) -> None:
    comparison = points[0].comparison
    assert comparison.axis is not None
    unit = statistics.median(points[0].costs[OURS])
    values = [getattr(point.comparison.setting, comparison.axis) for point in points]
    style = {"marker": "o", "markersize": 3, "linewidth": 1.2, "capsize": 2}
    for system in comparison.systems:
        costs = [sorted(cost / unit for cost in point.costs[system]) for point in points]
        middle = [statistics.median(spread) for spread in costs]
        reach = [
            [half - spread[0] for half, spread in zip(middle, costs, strict=True)],
            [spread[-1] - half for half, spread in zip(middle, costs, strict=True)],
        ]
        panel.errorbar(values, middle, reach, label=system, color=COLOURS[system], **style)
    panel.set_xscale("log")
    panel.set_xticks(values, [f"{value:,}" for value in values], fontsize=7)
    panel.minorticks_off()
    panel.tick_params(axis="y", labelsize=7)
    panel.set_ylim(0, 1.05 * panel.get_ylim()[1])
    panel.set_xlabel(comparison.axis.replace("_", " "), fontsize=8)
    panel.set_ylabel(COSTS[comparison.kind], fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(linewidth=0.4, alpha=0.5)
