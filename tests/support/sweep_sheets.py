"""Score sheets of systems that differ in one thing."""

from __future__ import annotations

from collections.abc import Mapping

from tdo_plugin.evaluation.score_sheet import DirectionScores, ScoreSheet, SystemScores


def sheet(bleu: Mapping[str, Mapping[str, float]], **changes: object) -> ScoreSheet:
    """BLEU by system and direction."""
    systems = tuple(
        SystemScores(
            name,
            tuple(
                DirectionScores(direction, 2, {"bleu": value})
                for direction, value in scores.items()
            ),
        )
        for name, scores in bleu.items()
    )
    directions = tuple(next(iter(bleu.values()), ()))
    groups = {"all": directions, **{direction: (direction,) for direction in directions}}
    return ScoreSheet(systems, directions, groups, ("bleu",), **changes)
