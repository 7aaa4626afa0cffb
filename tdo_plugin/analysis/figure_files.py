"""Shared parts of figures: file types, layout, and writing."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tdo_compat.errors import named_when_full
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png")
DPI = 150
MARKERS = "osD^vPX*"  # distinguish lines where colours do not suffice


class Score(NamedTuple):
    """A mean over trainings or pairs, with minimum and maximum."""

    mean: float
    least: float
    most: float


def check(path: Path, option: str = "--plot") -> None:
    """Raise UserError if the file type is not supported or matplotlib is missing."""
    if path.suffix not in SUFFIXES:
        raise UserError(f"`{option}` must end in {' or '.join(SUFFIXES)}; it is {path}")
    if find_spec("matplotlib") is None:
        raise UserError(
            f"`{option}` must have matplotlib installed (pip install matplotlib); it is not "
            "installed"
        )


def panel(width: float, title: str) -> tuple[Figure, Axes]:
    """A figure with one panel, ``width`` inches wide, and a title wrapped to the width."""
    from matplotlib.figure import Figure

    figure = Figure((width, 3.8), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=10, parse_math=False, wrap=True)
    return figure, figure.subplots()


def whiskers(scores: Sequence[Score]) -> list[list[float]] | None:
    """Distances from means to minima and maxima; None if every score is a single value."""
    if all(score.least == score.most or math.isnan(score.mean) for score in scores):
        return None
    # a mean of equal numbers can differ from them by rounding
    return [
        [max(0.0, score.mean - score.least) for score in scores],
        [max(0.0, score.most - score.mean) for score in scores],
    ]


def whole(axis: Axes) -> None:
    """Use integers only on the horizontal axis, such as for layers."""
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def legend(
    figure: Figure,
    handles: Sequence[Artist],
    labels: Sequence[str],
    columns: int = 4,
    title: str = "",
) -> None:
    """A legend below the panel, in at most ``columns`` columns, fewer if the panel is narrow."""
    for count in range(min(columns, len(labels)), 0, -1):
        drawn = figure.legend(
            handles,
            labels,
            title=title,
            title_fontsize=8,
            loc="outside lower center",
            ncols=count,
            fontsize=8,
            frameon=False,
        )
        if count == 1 or drawn.get_window_extent().width <= figure.bbox.width:
            return
        drawn.remove()


def plain(axes: Iterable[Axes]) -> None:
    """Remove the frame at the top and right, and draw faint grid lines in the background."""
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", linewidth=0.4, alpha=0.5)
        axis.set_axisbelow(True)


def text(name: str) -> str:
    """Escape a name for a legend: no formula, and not hidden because of a leading underscore."""
    escaped = name.replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped


def save(figure: Figure, path: Path) -> None:
    """Write a figure atomically; equal figures give identical files.

    Args:
        figure: to be written.
        path: `.svg` or `.png`.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        with named_when_full(path):
            _write(figure, partial, path.suffix)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def as_svg(figure: Figure) -> bytes:
    """A figure as the bytes of an SVG file."""
    buffer = io.BytesIO()
    _write(figure, buffer, ".svg")
    return buffer.getvalue()


def _write(figure: Figure, path: Path | io.BytesIO, suffix: str) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    if suffix == ".png":
        FigureCanvasAgg(figure).print_png(path)
        return
    with rc_context({"svg.hashsalt": "tdo", "svg.fonttype": "none"}):
        FigureCanvasSVG(figure).print_svg(path, metadata={"Date": None})
