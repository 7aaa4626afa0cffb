"""The figure of linguistic preference (Qu et al., figures 1(b) and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

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

WIDTH = 6.4  # inches
APART = 0.08  # in layers, so that bars of different models do not overlap


def draw_preference(
    models: Mapping[str, Mapping[int, Score]], title: str, paths: Sequence[Path]
) -> None:
    """Draw the score over layers, a line for each model, bars from the lowest to the highest pair.

    Args:
        models: mean, minimum and maximum over pairs, by model and layer.
        title: of the figure.
        paths: `.svg` or `.png`; each is written atomically.
    """
    figure, axis = panel(WIDTH, title)
    axis.axhline(0.5, color="0.45", linestyle="--", linewidth=1)
    for number, (name, layers) in enumerate(models.items()):
        shift = (number - (len(models) - 1) / 2) * APART
        scores = list(layers.values())
        axis.errorbar(
            [layer + shift for layer in layers],
            [score.mean for score in scores],
            whiskers(scores),
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            capsize=2,
            elinewidth=1,
            label=text(name),
        )
    axis.set_xlabel("layer")
    whole(axis)
    axis.set_ylabel("s (above 0.5: target language)")
    legend(figure, *axis.get_legend_handles_labels())
    plain([axis])
    for path in paths:
        save(figure, path)
