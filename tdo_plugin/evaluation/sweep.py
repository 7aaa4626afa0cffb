"""Scores of systems over the values of a hyperparameter, such as a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.score_sheet import METRICS, ScoreSheet, mean, skips_zeros
from tdo_plugin.evaluation.seeds import by_seed

MEAN = "mean"  # over directions

Placed = dict[tuple[str, str], list[str]]  # systems by line and value


@dataclass(frozen=True)
class Point:
    """The scores of the systems at one value.

    Attributes:
        line: the name of its line; empty if there is only one.
        value: the value as given, or a number in its shortest form.
        scores: scores of each system, by direction and group, or `MEAN`; relative to the baseline.
    """

    line: str
    value: str
    scores: dict[str, tuple[float, ...]]

    @property
    def name(self) -> str:
        """Line and value, as one name."""
        return f"{self.line}, {self.value}" if self.line else self.value

    def mean(self, direction: str) -> float:
        """The mean over the systems."""
        return fmean(self.scores[direction])

    def spread(self, direction: str) -> tuple[float, float]:
        """The minimum and maximum over the systems."""
        return min(self.scores[direction]), max(self.scores[direction])


def placed(specs: Sequence[str], sheet: ScoreSheet) -> Placed:
    """The systems at each line and value.

    Args:
        specs: `SYSTEM=[LINE:]VALUE` for each; NAME also stands for systems called `NAME, seed N`.
        sheet: the scores of the systems.

    Returns:
        Lines and values in the order given; within a line in ascending order if all values are
        numbers.

    Raises:
        UserError: an invalid spec.
    """
    by_value: Placed = {}
    for text in specs:
        name, mark, place = text.rpartition("=")
        line, _, value = place.rpartition(":")
        if not (name and mark and value):
            raise UserError(f"`--x` must be SYSTEM=[LINE:]VALUE; it is {text}")
        systems = members(name, sheet, "--x")
        taken = {system for names in by_value.values() for system in names}
        if twice := taken.intersection(systems):
            raise UserError(f"`--x` must name each system once; {min(twice)} occurs twice")
        by_value.setdefault((line, value), []).extend(systems)
    if not numeric(by_value):
        return by_value
    lines = list(dict.fromkeys(line for line, _ in by_value))
    ordered: Placed = {}
    for line, value in sorted(
        by_value, key=lambda position: (lines.index(position[0]), float(position[1]))
    ):
        # 0.7 and 0.70 are the same value, compared with all digits
        ordered.setdefault((line, f"{float(value):.15g}"), []).extend(by_value[line, value])
    return ordered


def members(name: str, sheet: ScoreSheet, option: str) -> tuple[str, ...]:
    """The systems that a name stands for: the system, or its training runs with several seeds.

    Raises:
        UserError: an unknown name.
    """
    if name in {system.name for system in sheet.systems}:
        return (name,)
    groups = by_seed(sheet)
    if name not in groups:
        raise UserError(f"`{option}` must name one of {', '.join(groups)}; it names {name}")
    return groups[name]


def numeric(systems: Placed) -> bool:
    """Whether all values are numbers."""
    try:
        return all(math.isfinite(float(value)) for _, value in systems)
    except ValueError:
        return False


Measure = Callable[[float, float], float]  # from a score and the baseline's mean

MEASURES: dict[str, Measure] = {
    "score": lambda score, base: score,
    "difference": lambda score, base: score - base,
    # in percent, as in figures 5 and 6 of the TDO paper
    "ratio": lambda score, base: 100 * (score / base - 1) if base else math.nan,
}


def groups_of(sheet: ScoreSheet, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The directions of the named groups; all directions as `MEAN` without names.

    Raises:
        UserError: the sheet lacks a group.
    """
    for name in names:
        if name not in sheet.groups:
            raise UserError(f"`--group` must be among {', '.join(sheet.groups)}; it has {name}")
    return {name: sheet.groups[name] for name in names} or {MEAN: sheet.directions}


def points(
    sheet: ScoreSheet,
    systems: Placed,
    metric: str,
    baseline: Sequence[str] = (),
    measure: str = "score",
    groups: Sequence[str] = (),
) -> list[Point]:
    """The scores at every value.

    Args:
        sheet: the scores.
        systems: systems by line and value.
        metric: a key of `METRICS`.
        baseline: systems whose mean is the baseline.
        measure: how to compare with the baseline, a key of `MEASURES`.
        groups: groups of the sheet, whose means follow the directions; (): the mean over all.

    Raises:
        UserError: a system lacks a direction's score.
    """
    if not sheet.directions:
        raise UserError("`SCORES` must have scores for a direction; they have none")
    directions_by_group = groups_of(sheet, groups)
    base = {
        key: fmean(scores)
        for key, scores in _scores(sheet, baseline, metric, directions_by_group).items()
    }
    held = MEASURES[measure]
    return [
        Point(
            line,
            value,
            {
                key: tuple(held(score, base.get(key, 0.0)) for score in scores)
                for key, scores in _scores(sheet, names, metric, directions_by_group).items()
            },
        )
        for (line, value), names in systems.items()
    ]


def _scores(
    sheet: ScoreSheet,
    systems: Sequence[str],
    metric: str,
    groups: Mapping[str, Sequence[str]],
) -> dict[str, tuple[float, ...]]:
    """Scores by direction, then the means of groups."""
    if not systems:
        return {}
    by_direction = {
        direction: tuple(_score(sheet, name, direction, metric) for name in systems)
        for direction in sheet.directions
    }
    skip = skips_zeros(metric, sheet.skip_zeros)
    means = {
        name: tuple(
            mean(column, skip) or 0.0
            for column in zip(*(by_direction[direction] for direction in directions), strict=True)
        )
        for name, directions in groups.items()
    }
    return {**by_direction, **means}


def _score(sheet: ScoreSheet, name: str, direction: str, metric: str) -> float:
    row = sheet.system(name).of(direction)
    if row is None or metric not in row.scores:
        raise UserError(
            f"`SCORES` must have {METRICS[metric].name} for every direction of each system; "
            f"{name} has none for {direction}"
        )
    return row.scores[metric]
