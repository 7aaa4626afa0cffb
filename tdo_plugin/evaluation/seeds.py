"""Means over training runs of one system with different seeds.

Such training runs are systems called `NAME, seed N`, as named by `tdo reproduce`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from tdo_plugin.evaluation.score_sheet import DirectionScores, ScoreSheet, SystemScores

SEED = re.compile(r"(?P<name>.+), seed \d+")


def by_seed(sheet: ScoreSheet) -> dict[str, tuple[str, ...]]:
    """The training runs of each system, by its name; a name without seed has a single run."""
    trainings: dict[str, list[str]] = {}
    for system in sheet.systems:
        seed = SEED.fullmatch(system.name)
        trainings.setdefault(seed["name"] if seed else system.name, []).append(system.name)
    return {name: tuple(members) for name, members in trainings.items()}


def has_seeds(sheet: ScoreSheet) -> bool:
    """Whether any system was trained several times."""
    return any(len(members) > 1 for members in by_seed(sheet).values())


def over_seeds(sheet: ScoreSheet) -> ScoreSheet:
    """The sheet with the training runs of each system merged by averaging scores.

    Directions and metrics that some of its runs lack are omitted, and so are comparisons and
    examples, which belong to single runs. A sheet without repeated runs is returned
    unchanged.
    """
    if not has_seeds(sheet):
        return sheet
    return replace(
        sheet,
        systems=tuple(
            _mean(name, [sheet.system(member) for member in members])
            for name, members in by_seed(sheet).items()
        ),
        comparisons=(),
        examples=(),
    )


def _mean(name: str, trainings: Sequence[SystemScores]) -> SystemScores:
    if len(trainings) == 1:
        return replace(trainings[0], name=name)
    rows = (
        [training.of(row.direction) for training in trainings] for row in trainings[0].directions
    )
    return SystemScores(
        name=name,
        directions=tuple(
            DirectionScores(
                row[0].direction,
                row[0].sentences,
                _means(entry.scores for entry in row),
                _means(entry.shares for entry in row),
                confused=fmean(entry.confused for entry in row),
            )
            for entries in rows
            if (row := [entry for entry in entries if entry]) and len(row) == len(trainings)
        ),
        pooled={
            group: _means(training.pooled.get(group, {}) for training in trainings)
            for group in trainings[0].pooled
        },
    )


def _means(scores: Iterable[dict[str, float]]) -> dict[str, float]:
    """Means for the keys that all dictionaries have."""
    first, *others = scores
    shared = [key for key in first if all(key in training for training in others)]
    return {key: fmean(training[key] for training in (first, *others)) for key in shared}
