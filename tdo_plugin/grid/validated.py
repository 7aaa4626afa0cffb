"""Scores of runs on validation sets, as their trainings measured them (``--eval-translation``)."""

from __future__ import annotations

from collections.abc import Sequence

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.groups import standard_groups
from tdo_plugin.evaluation.score_sheet import DirectionScores, ScoreSheet, SystemScores
from tdo_plugin.grid.cells import Run
from tdo_plugin.grid.folder import RunFolder
from tdo_plugin.launch.training import last_value
from tdo_plugin.validation_file import SCORES, read_validations


def check_validated(runs: Sequence[Run], behind: Sequence[str]) -> None:
    """Raise UserError where a training would translate no validation set, or another set."""
    for run in runs:
        words = [*run.config.words(), *behind]
        if last_value(words, "--eval-translation") is None:
            raise UserError(
                "`measure` must be test where a cell has no --eval-translation; it is validation, "
                f"and {run.name} has none"
            )
        subset = last_value(words, "--eval-subset")
        valid = last_value(words, "--valid-subset") or "valid"
        if subset is not None and subset not in valid.split(","):
            raise UserError(
                f"`--eval-subset` must be of --valid-subset ({valid}) where measure is validation; "
                f"of {run.name} it is {subset}"
            )


def validated(folder: RunFolder) -> tuple[DirectionScores, ...]:
    """What the last validation of a run's training found, by direction."""
    try:
        rows = read_validations([folder.validations])
        reason = "" if rows else f"{folder.validations} is empty"
    except (OSError, ValueError) as error:
        rows, reason = {}, str(error)
    if not rows:
        raise UserError(
            "`--out` must have what each training translated of its validation sets; "
            f"{reason} (--fresh makes it anew)"
        )
    return tuple(
        DirectionScores(row.direction, row.sentences, row.scores())
        for row in rows[max(rows)].values()
    )


def validation_sheet(data: DataFolder, done: Sequence[RunFolder]) -> ScoreSheet:
    """The score sheet of runs that are trained."""
    systems = tuple(SystemScores(folder.run.name, validated(folder)) for folder in done)
    measured = {
        tuple(row.direction for row in system.directions): system.name for system in systems
    }
    if len(measured) > 1:
        first, second, *_ = measured.values()
        raise UserError(
            "`--eval-translation` must be of the same directions in all cells; "
            f"{first} and {second} differ in them"
        )
    directions = tuple(
        dict.fromkeys(row.direction for system in systems for row in system.directions)
    )
    return ScoreSheet(
        systems,
        directions,
        standard_groups(directions, data.directions, data.hub()),
        SCORES,
    )
