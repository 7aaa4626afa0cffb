"""Scores of validation sets, as trainings measured them (``--eval-translation``), as a sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.groups import Groups
from tdo_plugin.evaluation.score_sheet import DirectionScores, ScoreSheet, SystemScores
from tdo_plugin.validation_file import SCORES, read_validations

FILE = "validation.jsonl"


def validation_sheet(
    systems: Mapping[str, Path], groups: Callable[[Sequence[str]], Groups]
) -> ScoreSheet:
    """The score sheet of trainings' last validations.

    Args:
        systems: by name the folder of its checkpoints, in which the training measured.
        groups: of directions.

    Raises:
        UserError: a training has measured nothing, or not the directions that others have.
    """
    scores = tuple(SystemScores(name, _last(folder)) for name, folder in systems.items())
    measured = {tuple(row.direction for row in system.directions): system.name for system in scores}
    if len(measured) > 1:
        first, second, *_ = measured.values()
        raise UserError(
            "`--eval-translation` must be of the same directions in all trainings; "
            f"{first} and {second} differ in them"
        )
    directions = next(iter(measured))
    return ScoreSheet(scores, directions, groups(directions), SCORES)


def _last(folder: Path) -> tuple[DirectionScores, ...]:
    """What the last validation of a training found, by direction."""
    try:
        rows = read_validations([folder / FILE])
        reason = "" if rows else f"{folder / FILE} is empty"
    except (OSError, ValueError) as error:
        rows, reason = {}, str(error)
    if not rows:
        raise UserError(
            "`NAME=DIR` must be a training's --save-dir with --validations, and the training have "
            f"had --eval-translation; {reason}"
        )
    return tuple(
        DirectionScores(row.direction, row.sentences, row.scores())
        for row in rows[max(rows)].values()
    )
