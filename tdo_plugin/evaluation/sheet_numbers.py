"""Consistency checks of the numbers in a score sheet.

Otherwise a file that was damaged or edited by hand would be shown as if it had been measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdo_plugin.evaluation.score_sheet import (
        Comparison,
        Difference,
        DirectionScores,
        ScoreSheet,
    )

ROUNDING = 1e-6  # tolerance for sums of floats
# bounds of scores; neural metrics have none
BOUNDS = {
    "bleu": (0.0, 100.0),
    "chrf": (0.0, 100.0),
    "off": (0.0, 100.0),
    "ter": (0.0, math.inf),
    "perplexity": (1.0, math.inf),
}
PERCENT = (0.0, 100.0)
SHARES = ("target", "english", "source", "other", "undetectable")


def check_numbers(sheet: ScoreSheet) -> None:
    """Raise ValueError if a number is out of bounds, or contradicts another number."""
    for what, value, (least, most) in _bounded(sheet):
        if not least - ROUNDING <= value <= most + ROUNDING:
            span = f"from {least:g}" + ("" if most == math.inf else f" to {most:g}")
            raise ValueError(f"its {what} must be {span}; found {value}")
    for system in sheet.systems:
        for row in system.directions:
            _check_languages(row)
    for comparison in sheet.comparisons:
        for difference in _differences(comparison):
            _check_difference(difference)


def _bounded(sheet: ScoreSheet) -> Iterator[tuple[str, float, tuple[float, float]]]:
    """Numbers with their description and bounds."""
    for system in sheet.systems:
        rows = [row.scores for row in system.directions]
        for scores in (*rows, *system.pooled.values()):
            yield from ((key, score, BOUNDS[key]) for key, score in scores.items() if key in BOUNDS)
        yield from (("correlations", rho, (-1.0, 1.0)) for rho in system.correlations.values())
        for row in system.directions:
            yield "sentences", row.sentences, (1.0, math.inf)
            yield "confused shares", row.confused, (0.0, row.shares.get("other", 0.0))
            yield from (("shares", share, PERCENT) for share in row.shares.values())
            counts = row.languages.values()
            yield from (("languages", count, (0.0, row.sentences)) for count in counts)
    for comparison in sheet.comparisons:
        yield from (("win ratios", ratio, PERCENT) for ratio in comparison.win_ratio.values())
        yield from (("p", difference.p, (0.0, 1.0)) for difference in _differences(comparison))
    for example in sheet.examples:
        yield "examples' chrF++", max(example.chrf.values(), default=0.0), PERCENT
        yield "examples' chrF++", min(example.chrf.values(), default=0.0), PERCENT
        yield "examples' numbers", example.number, (0.0, math.inf)
    yield "samples", sheet.samples, (0.0, math.inf)


def _differences(comparison: Comparison) -> list[Difference]:
    return [*comparison.directions.values(), *comparison.groups.values()]


def _check_languages(row: DirectionScores) -> None:
    """Raise ValueError for inconsistent languages and shares, unless they were not identified."""
    where = f"languages of {row.direction}"
    if row.languages and sum(row.languages.values()) != row.sentences:
        raise ValueError(f"its {where} must sum to {row.sentences} sentences; they do not")
    if not row.shares:
        return
    if set(row.shares) != set(SHARES) or abs(sum(row.shares.values()) - 100) > ROUNDING:
        raise ValueError(
            f"its shares of {row.direction} must be for {', '.join(SHARES)} and sum to 100; "
            "they do not"
        )
    off = row.scores.get("off")
    if not row.languages or (off is not None and abs(100 - row.shares["target"] - off) > ROUNDING):
        raise ValueError(
            f"its {where} and their shares must match its off-target rate; they do not"
        )


def _check_difference(difference: Difference) -> None:
    if (
        abs(difference.system - difference.baseline - difference.difference) > ROUNDING
        or difference.low > difference.high
    ):
        raise ValueError(
            "its comparisons must have the difference of their two scores, and an interval; "
            f"found {difference.difference} for {difference.system} and {difference.baseline}, "
            f"from {difference.low} to {difference.high}"
        )
