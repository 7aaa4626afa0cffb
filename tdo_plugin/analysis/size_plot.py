"""A picture of how much text there is: sentences and tokens of each direction, largest first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png")
BAR = 0.16  # inches
NARROWEST, WIDEST = 5.0, 40.0
UNEVEN = 20  # with the largest so many times the smallest, the scale is logarithmic
DPI = 150


def check(path: Path, option: str = "--plot") -> None:
    """Raise UserError where nothing could be drawn: another kind of file, or no matplotlib."""
    if path.suffix not in SUFFIXES:
        raise UserError(f"`{option}` must end in {' or '.join(SUFFIXES)}; it is {path}")
    if find_spec("matplotlib") is None:
        raise UserError(
            f"`{option}` must have matplotlib to draw with (pip install matplotlib); it is not "
            "installed"
        )


def draw_sizes(sizes: Mapping[str, Mapping[str, int]], title: str, path: Path) -> None:
    """Draw a panel of bars for each quantity; the file appears only complete.

    Equal sizes make equal files.

    Args:
        sizes: quantity, such as sentences -> direction -> how many.
        title: stands above.
        path: `.svg` or `.png`.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        _save(_figure(sizes, title), partial, path.suffix)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _figure(sizes: Mapping[str, Mapping[str, int]], title: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    first = next(iter(sizes.values()))
    order = sorted(first, key=lambda name: (-first[name], name))
    width = min(WIDEST, max(NARROWEST, 1.2 + BAR * len(order)))
    figure = Figure((width, 0.8 + 2.2 * len(sizes)), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=10, parse_math=False)
    axes = figure.subplots(len(sizes), 1, squeeze=False, sharex=True)[:, 0]
    for axis, (quantity, values) in zip(axes, sizes.items(), strict=True):
        heights = [values[name] for name in order]
        axis.bar(range(len(order)), heights, color="#3b6ea5", width=0.8)
        if min(heights) and max(heights) > UNEVEN * min(heights):
            axis.set_yscale("log")
        axis.yaxis.set_major_formatter(EngFormatter(sep=""))
        axis.set_ylabel(quantity)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", linewidth=0.4, alpha=0.5)
        axis.set_axisbelow(True)
    small = 7 if len(order) * BAR < WIDEST else 4
    axes[-1].set_xticks(range(len(order)), order, rotation=90, fontsize=small)
    axes[-1].set_xlim(-0.6, len(order) - 0.4)
    return figure


def _save(figure: Figure, path: Path, suffix: str) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    if suffix == ".png":
        FigureCanvasAgg(figure).print_png(path)
        return
    with rc_context({"svg.hashsalt": "sizes", "svg.fonttype": "none"}):
        FigureCanvasSVG(figure).print_svg(path, metadata={"Date": None})
