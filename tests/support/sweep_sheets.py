"""Score sheets of systems that differ in one thing."""

from __future__ import annotations

from collections.abc import Mapping

from tdo_plugin.evaluation.score_sheet import DirectionScores, ScoreSheet, SystemScores


def sheet(bleu: Mapping[str, Mapping[str, float]], **changes: object) -> ScoreSheet:
    """BLEU by system and direction."""
    systems = tuple(
        SystemScores(
            name, tuple(DirectionScores(one, 2, {"bleu": value}) for one, value in own.items())
        )
        for name, own in bleu.items()
    )
    directions = tuple(next(iter(bleu.values()), ()))
    groups = {"all": directions, **{one: (one,) for one in directions}}
    return ScoreSheet(systems, directions, groups, ("bleu",), **changes)
