"""Scores of systems that differ in one thing, such as a threshold, at its values."""

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
    """What the systems at one value have.

    Attributes:
        line: the name of its line; empty where there is but one.
        value: as it was given, or a number in its shortest form.
        scores: of each system, by direction and group, or `MEAN`; held against the baseline's.
    """

    line: str
    value: str
    scores: dict[str, tuple[float, ...]]

    @property
    def name(self) -> str:
        """Line and value."""
        return f"{self.line}, {self.value}" if self.line else self.value

    def mean(self, direction: str) -> float:
        """Over its systems."""
        return fmean(self.scores[direction])

    def spread(self, direction: str) -> tuple[float, float]:
        """The least and the most of its systems."""
        return min(self.scores[direction]), max(self.scores[direction])


def placed(specs: Sequence[str], sheet: ScoreSheet) -> Placed:
    """Where systems stand.

    Args:
        specs: `SYSTEM=[LINE:]VALUE` of each; a system called `NAME, seed N` is also meant by NAME.
        sheet: their scores.

    Returns:
        Lines and values in the order given; in each line numbers from the least on, where all
        values are numbers.

    Raises:
        UserError: a mistake in what was given.
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
            raise UserError(f"`--x` must name each system once; {min(twice)} is there twice")
        by_value.setdefault((line, value), []).extend(systems)
    if not numeric(by_value):
        return by_value
    lines = list(dict.fromkeys(line for line, _ in by_value))
    ordered: Placed = {}
    for line, value in sorted(
        by_value, key=lambda position: (lines.index(position[0]), float(position[1]))
    ):
        # 0.7 and 0.70 are one value, all of whose digits count
        ordered.setdefault((line, f"{float(value):.15g}"), []).extend(by_value[line, value])
    return ordered


def members(name: str, sheet: ScoreSheet, option: str) -> tuple[str, ...]:
    """The systems that a name means: itself, or its trainings with several seeds.

    Raises:
        UserError: there are none.
    """
    if name in {system.name for system in sheet.systems}:
        return (name,)
    groups = by_seed(sheet)
    if name not in groups:
        raise UserError(f"`{option}` must name a system of {', '.join(groups)}; it names {name}")
    return groups[name]


def numeric(systems: Placed) -> bool:
    """Whether all values are numbers."""
    try:
        return all(math.isfinite(float(value)) for _, value in systems)
    except ValueError:
        return False


Measure = Callable[[float, float], float]  # of a score, given the baseline's mean

MEASURES: dict[str, Measure] = {
    "score": lambda score, base: score,
    "difference": lambda score, base: score - base,
    # of TDO's figures 5 and 6, in percent
    "ratio": lambda score, base: 100 * (score / base - 1) if base else math.nan,
}


def groups_of(sheet: ScoreSheet, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The directions of groups by their names; of none of them all directions' mean.

    Raises:
        UserError: the sheet has no such group.
    """
    for name in names:
        if name not in sheet.groups:
            raise UserError(
                f"`--group` must be of {', '.join(sheet.groups)}; {name} is none of them"
            )
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
        sheet: of them all.
        systems: by line and value.
        metric: a key of `METRICS`.
        baseline: systems whose mean they are held against.
        measure: how, a key of `MEASURES`.
        groups: of the sheet, whose means come behind the directions; (): the mean over all.

    Raises:
        UserError: a system lacks a direction's score.
    """
    if not sheet.directions:
        raise UserError("`SCORES` must have scores of a direction; they have none")
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
    """By direction, then the means of groups."""
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
            f"`SCORES` must have {METRICS[metric].name} of every direction for each system; "
            f"{name} has none of {direction}"
        )
    return row.scores[metric]
