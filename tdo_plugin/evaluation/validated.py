"""A score sheet of validation scores measured during training (``--eval-translation``)."""

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
    """The score sheet of the last validations of training runs.

    Args:
        systems: the checkpoint folder of each system, by name.
        groups: returns the groups of given directions.

    Raises:
        UserError: a training run has no validation scores, or scores for different directions.
    """
    scores = tuple(SystemScores(name, _last(folder)) for name, folder in systems.items())
    measured = {tuple(row.direction for row in system.directions): system.name for system in scores}
    if len(measured) > 1:
        first, second, *_ = measured.values()
        raise UserError(
            "`--eval-translation` must have the same directions in all training runs; "
            f"{first} and {second} differ"
        )
    directions = next(iter(measured))
    return ScoreSheet(scores, directions, groups(directions), SCORES)


def _last(folder: Path) -> tuple[DirectionScores, ...]:
    """The scores of a training run's last validation, by direction."""
    try:
        rows = read_validations([folder / FILE])
        reason = "" if rows else f"{folder / FILE} is empty"
    except (OSError, ValueError) as error:
        rows, reason = {}, str(error)
    if not rows:
        raise UserError(
            "`NAME=DIR` must be the --save-dir of a training run with --eval-translation if "
            f"--validations is given; {reason}"
        )
    return tuple(
        DirectionScores(row.direction, row.sentences, row.scores())
        for row in rows[max(rows)].values()
    )
