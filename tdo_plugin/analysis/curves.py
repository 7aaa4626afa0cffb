"""Scores over updates, from the validations recorded in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from tdo_plugin.analysis.figure_files import DPI, plain, save
from tdo_plugin.errors import UserError
from tdo_plugin.validation_file import Validations, read_validations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# metric -> its key in the file; accuracy is 100 minus the off-target rate
METRICS = {"bleu": "bleu", "chrf": "chrf", "accuracy": "off"}
NAMES = {
    **{"bleu": "BLEU", "chrf": "chrF++", "accuracy": "language accuracy %"},
    **{"loss": "loss, bits", "nll_loss": "cross-entropy, bits"},
}
MARKED = 60  # maximum number of points of a line with markers

Curve = dict[int, dict[str, float]]  # update -> metric -> mean over directions


def read_curve(files: Sequence[Path], group: str) -> Curve:
    """Means over a group's directions at every validation, ordered by update.

    Args:
        files: `validation.jsonl` of successive trainings; if an update occurs more than once, in
            one file or several, the later line counts.
        group: `supervised` or `zero-shot`.

    Raises:
        UserError: a file is not such a log, or does not have the group.
    """
    try:
        rows = read_validations(files)
    except OSError as error:
        raise UserError(
            f"`NAME=FILE` must be a validation.jsonl of a training; {error.filename}: "
            f"{error.strerror}"
        ) from None
    except ValueError as error:
        raise UserError(f"`NAME=FILE` must be a validation.jsonl of a training; {error}") from None
    curve = curve_of(rows, group)
    if not curve:
        names = ", ".join(map(str, files))
        raise UserError(f"`NAME=FILE` must have {group} directions; {names} does not")
    return curve


def curve_of(rows: Validations, group: str) -> Curve:
    """Means over a group's directions at every validation with any of them."""
    stored = group.replace("-", "_")
    curve = {
        update: _means([row.scores() for row in directions.values() if row.group == stored])
        for update, directions in rows.items()
    }
    return {update: means for update, means in curve.items() if means}


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means over the directions that have a score."""
    values = {
        metric: [100 - row[key] if metric == "accuracy" else row[key] for row in rows if key in row]
        for metric, key in METRICS.items()
    }
    return {metric: fmean(scores) for metric, scores in values.items() if scores}


def draw_curves(
    curves: Mapping[str, Curve], metrics: Sequence[str], title: str, path: Path
) -> None:
    """Draw a panel for each metric with a line for each name; the file is written atomically.

    Args:
        curves: by name.
        metrics: of `METRICS`.
        title: of the figure.
        path: `.svg` or `.png`.
    """
    save(curve_figure(curves, metrics, title), path)


def curve_figure(
    curves: Mapping[str, Curve], metrics: Sequence[str], title: str, from_zero: bool = True
) -> Figure:
    """The figure of `draw_curves`.

    Args:
        curves: by name; a curve may lack a metric.
        metrics: of `NAMES`, a panel for each.
        title: of the figure.
        from_zero: whether vertical axes start at 0.
    """
    from matplotlib.figure import Figure

    figure = Figure((6.4, 0.8 + 2.4 * len(metrics)), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=10, parse_math=False)
    axes = figure.subplots(len(metrics), 1, squeeze=False, sharex=True)[:, 0]
    for axis, metric in zip(axes, metrics, strict=True):
        for name, curve in curves.items():
            points = [(update, means[metric]) for update, means in curve.items() if metric in means]
            if points:
                mark = "o" if len(points) <= MARKED else ""
                axis.plot(*zip(*points, strict=True), marker=mark, markersize=3, label=name)
        axis.set_ylabel(NAMES[metric])
        if from_zero:
            axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("updates")
    axes[0].legend(fontsize=8, frameon=False)
    plain(axes)
    return figure
