"""Scores of systems that differ in one thing, such as a threshold, at its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.scores import METRICS, ScoreSheet, mean, skips_zeros
from tdo_plugin.evaluation.seeds import by_seed

MEAN = "mean"  # over directions

Placed = dict[tuple[str, str], list[str]]  # systems by line and value


@dataclass(frozen=True)
class Point:
    """What the systems at one value have.

    Attributes:
        line: the name of its line; empty where there is but one.
        value: as it was given, or a number in its shortest form.
        scores: of each system, by direction and `MEAN`; less the baseline's, if there is one.
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


def placed(given: Sequence[str], sheet: ScoreSheet) -> Placed:
    """Where systems stand.

    Args:
        given: `SYSTEM=[LINE:]VALUE` of each; a system called `NAME, seed N` is also meant by NAME.
        sheet: their scores.

    Returns:
        Lines and values in the order given; in each line numbers from the least on, where all
        values are numbers.

    Raises:
        UserError: a mistake in what was given.
    """
    found: Placed = {}
    for text in given:
        name, mark, place = text.rpartition("=")
        line, _, value = place.rpartition(":")
        if not (name and mark and value):
            raise UserError(f"`--x` must be SYSTEM=[LINE:]VALUE; it is {text}")
        systems = members(name, sheet, "--x")
        taken = {one for own in found.values() for one in own}
        if twice := taken.intersection(systems):
            raise UserError(f"`--x` must name each system once; {min(twice)} is there twice")
        found.setdefault((line, value), []).extend(systems)
    if not numeric(found):
        return found
    lines = list(dict.fromkeys(line for line, _ in found))
    ordered: Placed = {}
    for line, value in sorted(found, key=lambda one: (lines.index(one[0]), float(one[1]))):
        # 0.7 and 0.70 are one value
        ordered.setdefault((line, f"{float(value):g}"), []).extend(found[line, value])
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


def points(
    sheet: ScoreSheet, systems: Placed, metric: str, baseline: Sequence[str] = ()
) -> list[Point]:
    """The scores at every value.

    Args:
        sheet: of them all.
        systems: by line and value.
        metric: a key of `METRICS`.
        baseline: systems whose mean is taken off.

    Raises:
        UserError: a system lacks a direction's score.
    """
    if not sheet.directions:
        raise UserError("`SCORES` must have scores of a direction; they have none")
    zero = {key: fmean(one) for key, one in _scores(sheet, baseline, metric).items()}
    return [
        Point(
            line,
            value,
            {
                key: tuple(score - zero.get(key, 0.0) for score in scores)
                for key, scores in _scores(sheet, own, metric).items()
            },
        )
        for (line, value), own in systems.items()
    ]


def _scores(sheet: ScoreSheet, systems: Sequence[str], metric: str) -> dict[str, tuple[float, ...]]:
    if not systems:
        return {}
    found = {
        direction: tuple(_score(sheet, name, direction, metric) for name in systems)
        for direction in sheet.directions
    }
    columns = zip(*found.values(), strict=True)
    skip = skips_zeros(metric, sheet.skip_zeros)
    return {**found, MEAN: tuple(mean(column, skip) or 0.0 for column in columns)}


def _score(sheet: ScoreSheet, name: str, direction: str, metric: str) -> float:
    row = sheet.system(name).of(direction)
    if row is None or metric not in row.scores:
        raise UserError(
            f"`SCORES` must have {METRICS[metric].name} of every direction for each system; "
            f"{name} has none of {direction}"
        )
    return row.scores[metric]
