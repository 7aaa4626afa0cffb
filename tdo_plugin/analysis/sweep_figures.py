"""Pictures of systems that differ in one thing (Xie et al., 2021, figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tdo_plugin.analysis.drawing import DPI, plain, save, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR = 0.13  # inches
NARROWEST, WIDEST = 5.6, 30.0
FILLED = 0.8  # of a group's width


class Score(NamedTuple):
    """A mean over trainings, and the least and the most of them."""

    mean: float
    least: float
    most: float


def draw_curves(
    lines: Mapping[str, Mapping[float, Score]],
    xlabel: str,
    ylabel: str,
    title: str,
    paths: Sequence[Path],
) -> None:
    """Draw scores over numbers, a line for each name (figure 4), spreads as bars.

    Args:
        lines: scores by name and number; a name may be empty.
        xlabel: what the numbers are.
        ylabel: what the scores are.
        title: stands above.
        paths: `.svg` or `.png`; each appears only complete.
    """
    figure, axis = _empty(NARROWEST, title)
    for name, points in lines.items():
        scores = list(points.values())
        axis.errorbar(
            list(points),
            [one.mean for one in scores],
            _whiskers(scores),
            marker="o",
            markersize=4,
            capsize=2,
            elinewidth=1,
            label=text(name),
        )
    axis.set_xlabel(xlabel, parse_math=False)
    _finish(figure, axis, ylabel, "", paths)


def draw_bars(
    bars: Mapping[str, Mapping[str, Score]],
    xlabel: str,
    ylabel: str,
    title: str,
    paths: Sequence[Path],
) -> None:
    """Draw scores by direction, bars side by side for each name (figures 5 and 6).

    Args:
        bars: scores by name and direction, the same directions for each.
        xlabel: what the names are; stands over them.
        ylabel: what the scores are.
        title: stands above.
        paths: `.svg` or `.png`; each appears only complete.
    """
    directions = list(next(iter(bars.values())))
    room = max(0.55, BAR * len(bars) / FILLED)  # inches of a direction
    figure, axis = _empty(min(WIDEST, max(NARROWEST, 1.0 + room * len(directions))), title)
    width = FILLED / len(bars)
    for number, (name, values) in enumerate(bars.items()):
        shift = (number - (len(bars) - 1) / 2) * width
        scores = [values[one] for one in directions]
        axis.bar(
            [place + shift for place in range(len(directions))],
            [one.mean for one in scores],
            0.92 * width,
            yerr=_whiskers(scores),
            error_kw={"elinewidth": 0.8, "ecolor": "0.3"},
            color=_color(number, len(bars)),
            label=text(name),
        )
    axis.set_xticks(range(len(directions)), directions, parse_math=False, fontsize=8)
    axis.tick_params(axis="x", length=0)
    axis.set_xlim(-0.6, len(directions) - 0.4)
    _finish(figure, axis, ylabel, xlabel, paths)


def _color(number: int, count: int) -> object:
    """One of ten that are easy to tell apart; of more, a place between dark and bright."""
    from matplotlib import colormaps

    return f"C{number}" if count <= 10 else colormaps["viridis"](number / (count - 1))


def _whiskers(scores: Sequence[Score]) -> list[list[float]] | None:
    """Down and up from the means; None where nothing was trained more than once."""
    if all(one.least == one.most for one in scores):
        return None
    return [[one.mean - one.least for one in scores], [one.most - one.mean for one in scores]]


def _empty(width: float, title: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure((width, 3.8), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure, figure.subplots()


def _finish(figure: Figure, axis: Axes, ylabel: str, over: str, paths: Sequence[Path]) -> None:
    """The axis at zero where it is crossed, a legend where there are names."""
    axis.set_ylabel(ylabel)
    plain([axis])
    low, high = axis.get_ylim()
    if low < 0 < high:
        axis.axhline(0, color="0.3", linewidth=0.8)
    handles, labels = axis.get_legend_handles_labels()
    if any(labels):
        figure.legend(
            handles,
            labels,
            title=text(over),
            title_fontsize=8,
            loc="outside lower center",
            ncols=min(4 if len(labels) < 9 else 6, len(labels)),
            fontsize=8,
            frameon=False,
        )
    for path in paths:
        save(figure, path)
