"""Scores over updates, from what trainings wrote down at their validations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tdo_plugin.analysis.drawing import DPI, plain, save
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# what is drawn -> its score in the file; accuracy is the share in the target language
METRICS = {"bleu": "bleu", "chrf": "chrf", "accuracy": "off"}
NAMES = {"bleu": "BLEU", "chrf": "chrF++", "accuracy": "language accuracy %"}

Curve = dict[int, dict[str, float]]  # update -> metric -> mean over directions


def read_curve(files: Sequence[Path], group: str) -> Curve:
    """The means of a group's directions at every validation, in the order of the updates.

    Args:
        files: `validation.jsonl` of trainings that follow on one another; where two have an update,
            and where a file has it twice, the later line counts.
        group: `supervised` or `zero-shot`.

    Raises:
        UserError: a file that is none of these, or none with the group.
    """
    found: dict[int, dict[str, dict[str, float]]] = {}
    for path in files:
        for line in _lines(path):
            if line["group"] == group.replace("-", "_"):
                found.setdefault(line["update"], {})[line["direction"]] = {
                    metric: 100 - line[key] if metric == "accuracy" else line[key]
                    for metric, key in METRICS.items()
                    if key in line
                }
    if not found:
        names = ", ".join(map(str, files))
        raise UserError(f"`NAME=FILE` must have {group} directions; {names} has none")
    return {
        update: {
            metric: fmean(one[metric] for one in found[update].values() if metric in one)
            for metric in METRICS
            if any(metric in one for one in found[update].values())
        }
        for update in sorted(found)
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if all({"update", "direction", "group"} <= set(line) for line in lines):
            return lines
    except OSError as error:
        raise UserError(
            f"`NAME=FILE` must be a validation.jsonl of a training; {path}: {error.strerror}"
        ) from None
    except (ValueError, TypeError):
        pass
    raise UserError(f"`NAME=FILE` must be a validation.jsonl of a training; {path} is not one")


def draw_curves(
    curves: Mapping[str, Curve], metrics: Sequence[str], title: str, path: Path
) -> None:
    """Draw a panel for each metric, a line for each name; the file appears only complete.

    Args:
        curves: by name.
        metrics: of `METRICS`.
        title: stands above.
        path: `.svg` or `.png`.
    """
    save(_figure(curves, metrics, title), path)


def _figure(curves: Mapping[str, Curve], metrics: Sequence[str], title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure((6.4, 0.8 + 2.4 * len(metrics)), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=10, parse_math=False)
    axes = figure.subplots(len(metrics), 1, squeeze=False, sharex=True)[:, 0]
    for axis, metric in zip(axes, metrics, strict=True):
        for name, curve in curves.items():
            points = [(update, one[metric]) for update, one in curve.items() if metric in one]
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
        axis.set_ylabel(NAMES[metric])
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("updates")
    axes[0].legend(fontsize=8, frameon=False)
    plain(axes)
    return figure
