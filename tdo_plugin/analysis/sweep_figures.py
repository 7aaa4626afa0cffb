"""Figures of systems that differ in one setting (Xie et al., 2021, figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.analysis.figure_files import (
    MARKERS,
    Score,
    legend,
    panel,
    plain,
    save,
    text,
    whiskers,
    whole,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR = 0.13  # inches
NARROWEST, WIDEST = 5.6, 30.0
FILLED = 0.8  # share of a group's width
STYLES = ("-", ":", "--", "-.")


def draw_curves(
    lines: Mapping[tuple[str, str], Mapping[float, Score]],
    xlabel: str,
    ylabel: str,
    title: str,
    paths: Sequence[Path],
) -> None:
    """Draw scores over numbers, a line for each name and group, spreads as bars.

    Lines of one name have the same colour and marker, lines of one group the same style (Qu et al.,
    figures 5 and 6).

    Args:
        lines: scores by (name, group), either of which may be empty, and number.
        xlabel: of the numbers.
        ylabel: of the scores.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
    """
    figure, axis = panel(NARROWEST, title)
    names, groups = (list(dict.fromkeys(column)) for column in zip(*lines, strict=True))
    for (name, group), points in lines.items():
        scores, number = list(points.values()), names.index(name)
        axis.errorbar(
            list(points),
            [score.mean for score in scores],
            whiskers(scores),
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            capsize=2,
            elinewidth=1,
            color=f"C{number}",
            linestyle=STYLES[groups.index(group) % len(STYLES)],
            label=text(", ".join(filter(None, (name, group)))),
        )
    axis.set_xlabel(xlabel, parse_math=False)
    if all(number % 1 == 0 for points in lines.values() for number in points):
        whole(axis)
    _finish(figure, axis, ylabel, "", paths)


def draw_bars(
    bars: Mapping[str, Mapping[str, Score]],
    xlabel: str,
    ylabel: str,
    title: str,
    paths: Sequence[Path],
    below: str = "",
) -> None:
    """Draw scores by direction, or by another category, bars side by side for each name.

    Args:
        bars: scores by name and direction, the same directions for each; may be NaN.
        xlabel: title of the legend of names.
        ylabel: of the scores.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
        below: label of the categories, if they are not directions.
    """
    directions = list(next(iter(bars.values())))
    room = max(0.55, BAR * len(bars) / FILLED)  # inches per direction
    figure, axis = panel(min(WIDEST, max(NARROWEST, 1.0 + room * len(directions))), title)
    width = FILLED / len(bars)
    for number, (name, values) in enumerate(bars.items()):
        shift = (number - (len(bars) - 1) / 2) * width
        scores = [values[direction] for direction in directions]
        axis.bar(
            [place + shift for place in range(len(directions))],
            [score.mean for score in scores],
            0.92 * width,
            yerr=whiskers(scores),
            error_kw={"elinewidth": 0.8, "ecolor": "0.3"},
            color=_color(number, len(bars)),
            label=text(name),
        )
    axis.set_xticks(range(len(directions)), directions, parse_math=False, fontsize=8)
    axis.set_xlabel(below, parse_math=False)
    axis.tick_params(axis="x", length=0)
    axis.set_xlim(-0.6, len(directions) - 0.4)
    _finish(figure, axis, ylabel, xlabel, paths)


def _color(number: int, count: int) -> object:
    """One of ten distinguishable colours, or for more names one between dark and bright."""
    from matplotlib import colormaps

    return f"C{number}" if count <= 10 else colormaps["viridis"](number / (count - 1))


def _finish(figure: Figure, axis: Axes, ylabel: str, over: str, paths: Sequence[Path]) -> None:
    """Draw the zero line if it is crossed, and a legend if there are names; then save."""
    axis.set_ylabel(ylabel)
    plain([axis])
    low, high = axis.get_ylim()
    if low < 0 < high:
        axis.axhline(0, color="0.3", linewidth=0.8)
    handles, labels = axis.get_legend_handles_labels()
    if any(labels):
        legend(figure, handles, labels, 4 if len(labels) < 9 else 6, text(over))
    for path in paths:
        save(figure, path)
