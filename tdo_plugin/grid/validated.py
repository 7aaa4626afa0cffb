"""Scores of runs on validation sets, as their trainings measured them (``--eval-translation``)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.groups import standard_groups
from tdo_plugin.evaluation.scores import DirectionScores, ScoreSheet, SystemScores
from tdo_plugin.grid.folder import RunFolder

SCORES = ("bleu", "chrf", "off")


def check_validated(folders: Sequence[RunFolder], behind: Sequence[str]) -> None:
    """Raise UserError where a training would translate no validation set."""
    for folder in folders:
        words = [*folder.run.config.words(), *behind]
        if not any(word.partition("=")[0] == "--eval-translation" for word in words):
            raise UserError(
                "`measure` must be test where a cell has no --eval-translation; it is validation, "
                f"and {folder.run.name} has none"
            )


def validated(folder: RunFolder) -> tuple[DirectionScores, ...]:
    """What the last validation of a run's training found, by direction."""
    lines = folder.validations.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    last = max(row["update"] for row in rows)
    # an update may be there twice, after a restart: the later line is the one that counts
    by_direction = {row["direction"]: row for row in rows if row["update"] == last}
    return tuple(
        DirectionScores(
            direction, row["sentences"], {key: row[key] for key in SCORES if key in row}
        )
        for direction, row in by_direction.items()
    )


def validation_sheet(data: DataFolder, done: Sequence[RunFolder]) -> ScoreSheet:
    """The score sheet of runs that are trained."""
    systems = tuple(SystemScores(one.run.name, validated(one)) for one in done)
    directions = tuple(
        dict.fromkeys(row.direction for system in systems for row in system.directions)
    )
    return ScoreSheet(
        systems,
        directions,
        standard_groups(directions, data.directions, data.hub()),
        SCORES,
        notes=("Scores are of validation sets, as the trainings measured them.",),
    )
