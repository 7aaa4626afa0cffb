"""Figures of importance and allocation (Xie et al., 2021, figures 2 and 3).

Shapes: P language pairs, W neurons of a module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from tdo_plugin.analysis.figure_files import DPI, plain, save, text
from tdo_plugin.analysis.neurons.pair_similarity import Tree
from tdo_plugin.neuron_files import Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRIP = 0.62  # height of a pair's curve in inches
PANEL = 4.2, 3.0
CELL = 0.46
GROW = 0.9  # height of a dendrogram in inches
PARTS = {  # colours
    "attention": "C0",
    "cross_attention": "C1",
    "merged_attention": "C1",
    "feed_forward": "C2",
}
MARKERS = {"query": "o", "key": "s", "value": "^", "out": "D", "inner": "v", "outer": "X"}
DASHES = ("-", "--", ":")  # each for ten lines


def draw_importance(
    theta: Tensor, pairs: Sequence[str], title: str, ylabel: str, paths: Sequence[Path]
) -> None:
    """Draw the importance of a module's neurons in order, a strip for each pair (figure 2).

    The strips are stacked on one horizontal scale, so that peaks of the same neuron align.

    Args:
        theta: importance, (P, W).
        pairs: names.
        title: of the figure.
        ylabel: name of theta.
        paths: `.svg` or `.png`; each is written atomically.
    """
    figure = _empty((8.0, 1.1 + STRIP * len(pairs)), title)
    axes = figure.subplots(len(pairs), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for number, (axis, pair, row) in enumerate(zip(axes, pairs, theta.tolist(), strict=True)):
        axis.plot(range(len(row)), row, color=f"C{number % 10}", linewidth=0.5)
        axis.set_ylabel(pair, rotation=0, ha="right", va="center", fontsize=9)
        axis.tick_params(labelsize=7)
    axes[0].set_ylim(bottom=0)
    axes[-1].set_xlim(0, theta.shape[1] - 1)
    axes[-1].set_xlabel("neuron")
    figure.supylabel(ylabel, fontsize=9)
    _finish(figure, axes, paths)


def draw_layers(
    scores: Mapping[tuple[str, int], Sequence[float]],
    pairs: Sequence[str],
    title: str,
    paths: Sequence[Path],
) -> None:
    """Draw LScore over layers, a panel for each stack, a line for each pair (figure 3 a, b).

    Args:
        scores: of each pair, by stack and layer; NaN leaves a gap.
        pairs: names.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
    """
    figure, panels = _panels([stack for stack, _ in scores], title)
    for stack, axis in panels.items():
        layers = [layer for name, layer in scores if name == stack]
        for row, pair in enumerate(pairs):
            line = [scores[stack, layer][row] for layer in layers]
            axis.plot(layers, line, _dash(row), color=f"C{row % 10}", marker="o", ms=3, label=pair)
    _share_legend(figure, panels, "LScore", pairs, min(4, len(pairs)), paths)


def draw_modules(scores: Mapping[Place, float], title: str, paths: Sequence[Path]) -> None:
    """Draw MScore over layers, a panel for each stack, a line for each kind (figure 3 c, d).

    Args:
        scores: by place; NaN leaves a gap.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
    """
    figure, panels = _panels([place.stack for place in scores], title)
    for stack, axis in panels.items():
        for part, neurons in dict.fromkeys(
            (place.part, place.neurons) for place in scores if place.stack == stack
        ):
            points = [
                (place.layer, score)
                for place, score in scores.items()
                if (place.stack, place.part, place.neurons) == (stack, part, neurons)
            ]
            axis.plot(
                *zip(*points, strict=True),
                color=PARTS[part],
                marker=MARKERS[neurons],
                ms=4,
                linewidth=1,
                label=_kind(part, neurons),
            )
    kinds = {(place.part, place.neurons) for place in scores}
    order = [_kind(*kind) for kind in product(PARTS, MARKERS) if kind in kinds]
    _share_legend(figure, panels, "MScore", order, -(-len(order) // 2), paths)


def draw_similarity(
    similarity: Tensor, tree: Tree, pairs: Sequence[str], title: str, paths: Sequence[Path]
) -> None:
    """Draw a heat map of the similarity of pairs, below a tree of their groups.

    Args:
        similarity: of each two pairs, (P, P), from 0 to 1.
        tree: of the same pairs; determines the order.
        pairs: names.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
    """
    from matplotlib import colormaps

    side = CELL * len(pairs)
    figure = _empty((max(4.2, side + 1.6), side + GROW + 1.1), title)
    above, axis = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": (GROW, side)}, squeeze=True
    )
    for line, height in zip(tree.lines, tree.heights, strict=True):
        above.plot([place / 10 - 0.5 for place in line], height, color="0.35", linewidth=1)
    above.spines[["top", "right", "bottom"]].set_visible(False)
    above.tick_params(bottom=False, labelbottom=False, labelsize=7)
    low, high = tree.steps[0][2], tree.steps[-1][2]
    above.set_ylim(bottom=max(0.0, low - max(0.5 * (high - low), 0.05)))
    above.set_ylabel("distance", fontsize=8)
    ordered = similarity[tree.order][:, tree.order]
    ordered.fill_diagonal_(float("nan"))  # a pair with itself
    colors = colormaps["viridis"].with_extremes(bad="0.93")
    image = axis.imshow(ordered.numpy(), cmap=colors, aspect="auto")
    for row, column in permutations(range(len(pairs)), 2):
        value = float(ordered[row, column])
        red, green, blue, _ = image.cmap(image.norm(value))
        color = "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "white"
        axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=color)
    names = [pairs[number] for number in tree.order]
    axis.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    for path in paths:
        save(figure, path)


def _empty(size: tuple[float, float], title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(size, dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


def _panels(stacks: Sequence[str], title: str) -> tuple[Figure, dict[str, Axes]]:
    """A panel for each stack, side by side on the same scale."""
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(stacks))
    figure = _empty((max(5.6, PANEL[0] * len(names)), PANEL[1] + 0.8), title)
    axes = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for axis, name in zip(axes, names, strict=True):
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("layer")
        axis.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return figure, dict(zip(names, axes, strict=True))


def _dash(number: int) -> str:
    return DASHES[number // 10 % len(DASHES)]


def _kind(part: str, neurons: str) -> str:
    return f"{part.replace('_', ' ')}, {neurons}"


def _share_legend(
    figure: Figure,
    panels: Mapping[str, Axes],
    ylabel: str,
    labels: Sequence[str],
    columns: int,
    paths: Sequence[Path],
) -> None:
    """One legend below all panels, with labels in this order."""
    axes = list(panels.values())
    axes[0].set_ylabel(ylabel)
    handles = {line.get_label(): line for axis in axes for line in axis.get_lines()}
    figure.legend(
        [handles[label] for label in labels],
        map(text, labels),
        loc="outside lower center",
        ncols=columns,
        handlelength=2.8,
        fontsize=8,
        frameon=False,
    )
    _finish(figure, axes, paths)


def _finish(figure: Figure, axes: Iterable[Axes], paths: Sequence[Path]) -> None:
    plain(axes)
    for path in paths:
        save(figure, path)
