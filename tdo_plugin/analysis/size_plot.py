"""A figure of corpus sizes: sentences and tokens of each direction, largest first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.analysis.figure_files import DPI, plain, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAR = 0.16  # inches
NARROWEST, WIDEST = 5.0, 40.0
UNEVEN = 20  # ratio of largest to smallest from which the scale is logarithmic


def draw_sizes(sizes: Mapping[str, Mapping[str, int]], title: str, path: Path) -> None:
    """Draw a panel of bars for each quantity; the file is written atomically.

    Equal sizes give identical files.

    Args:
        sizes: quantity, such as sentences -> direction -> number.
        title: of the figure.
        path: `.svg` or `.png`.
    """
    save(_figure(sizes, title), path)


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
    plain(axes)
    small = 7 if len(order) * BAR < WIDEST else 4
    axes[-1].set_xticks(range(len(order)), order, rotation=90, fontsize=small)
    axes[-1].set_xlim(-0.6, len(order) - 0.4)
    return figure
