"""Figures of position probing: over updates, over layers, by class of token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.analysis.figure_files import legend, panel, plain, save, text, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACCURACY = "position predicted, % of tokens"
GUESS = "baseline: the word alone"
OVERALL = "overall, by model"
CAPTIONS = (OVERALL, GUESS)
GREY = "0.45"
MOST_UPRIGHT = 14  # maximum number of classes with horizontal labels
GAP = 0.4  # between groups, in widths of a class

Points = Sequence[tuple[int, float]]


def draw_lines(
    lines: Mapping[str, Points], guess: float, xlabel: str, title: str, paths: Sequence[Path]
) -> None:
    """Draw accuracy over updates (TPDM, figure 1 right) or over layers, a line for each model.

    Args:
        lines: (update or layer, percent) by model.
        guess: percent correct without any state, a dashed line.
        xlabel: of the first value of the points.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
    """
    figure, axis = panel(6.4, title)
    for name, points in lines.items():
        axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=text(name))
    axis.axhline(guess, color=GREY, linestyle="--", linewidth=1, label=GUESS)
    axis.set_xlabel(xlabel)
    whole(axis)
    _finish(figure, axis, paths)


def draw_classes(
    bars: Mapping[str, Mapping[str, float]],
    overall: Mapping[str, float],
    guesses: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    title: str,
    paths: Sequence[Path],
) -> None:
    """Draw accuracy by class of token (TPDM, figure 2), bars side by side for each model.

    Args:
        bars: percent by model and class.
        overall: percent by model, dotted lines.
        guesses: percent correct without any state by class, a mark across the class's bars.
        groups: of classes, drawn with gaps in between.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
    """
    classes = [name for group in groups for name in group]
    places = _places(groups)
    crowded = len(classes) > MOST_UPRIGHT
    room = max(0.3 if crowded else 0.72, 0.3 + 0.16 * len(bars))  # inches per class
    figure, axis = panel(max(6.4, 1.2 + room * len(classes)), title)
    width = 0.8 / len(bars)
    for number, (name, values) in enumerate(bars.items()):
        shift = (number - (len(bars) - 1) / 2) * width
        at = [place + shift for place in places]
        heights = [values[token_class] for token_class in classes]
        axis.bar(at, heights, 0.92 * width, color=f"C{number}", alpha=0.6, label=text(name))
    for number, name in enumerate(bars):
        axis.axhline(overall[name], color=f"C{number}", linestyle=":", linewidth=1.4)
    for place, token_class in zip(places, classes, strict=True):
        axis.plot(
            (place - 0.42, place + 0.42), [guesses[token_class]] * 2, color=GREY, linewidth=1.6
        )
    # one legend entry for marks with the same meaning in every model
    axis.plot([], [], color=GREY, linestyle=":", linewidth=1.4, label=OVERALL)
    axis.plot([], [], color=GREY, linewidth=1.6, label=GUESS)
    turned = 90 if crowded else 0
    axis.set_xticks(places, classes, parse_math=False, fontsize=8, rotation=turned)
    axis.tick_params(axis="x", length=0)
    axis.set_xlim(places[0] - 0.7, places[-1] + 0.7)
    _finish(figure, axis, paths)


def _places(groups: Sequence[Sequence[str]]) -> list[float]:
    """Positions of the classes, with gaps between groups."""
    starts = accumulate((len(group) + GAP for group in groups), initial=0.0)
    return [
        start + number
        for start, group in zip(starts, groups, strict=False)
        for number in range(len(group))
    ]


def _finish(figure: Figure, axis: Axes, paths: Sequence[Path]) -> None:
    axis.set_ylabel(ACCURACY)
    axis.set_ylim(bottom=0)
    handles, labels = axis.get_legend_handles_labels()
    # matplotlib lists bars after lines, regardless of the order in which they were drawn
    order = sorted(range(len(labels)), key=lambda index: labels[index] in CAPTIONS)
    columns = 4 if len(labels) < 5 else 3
    legend(figure, [handles[index] for index in order], [labels[index] for index in order], columns)
    plain([axis])
    for path in paths:
        save(figure, path)
