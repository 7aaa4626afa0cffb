"""Reads a training folder for its page and for `tdo curve training`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tdo_plugin.analysis.curves import Curve, curve_of
from tdo_plugin.errors import UserError
from tdo_plugin.launch.training_record import RECORD, read_record
from tdo_plugin.recording.logged_values import EPOCH, INNER, SPEED, read_losses
from tdo_plugin.recording.logged_values import FILE as METRICS
from tdo_plugin.recording.runs import FINISHED, Run, effective_options, read_runs
from tdo_plugin.validation_file import read_validations

VALIDATIONS = "validation.jsonl"
LAST = "checkpoint_last.pt"
TRAINING = "training"  # name of the curve of the training loss
POINTS = 500  # maximum number of points in a curve; longer curves are thinned evenly


@dataclass(frozen=True)
class TrainingFolder:
    """The data of a training folder.

    Attributes:
        root: the folder.
        runs: runs in order. For a folder without `runs.json`, one run reconstructed from the last
            checkpoint, or none.
        losses: loss curves over updates, for `training` and each validation set.
        best: the lowest loss of the first validation set, and its update; None without any.
        speed: target tokens per second, the median of what was logged; None if nothing was.
        scores: curves of BLEU and other scores over updates, by group of directions.
        updates: the last update with any record.
        resume: the command that continues the training; empty if it is finished.
        problem: why `validation.jsonl` cannot be shown, if it cannot.
    """

    root: Path
    runs: list[Run]
    losses: dict[str, Curve]
    best: tuple[float, int] | None
    speed: float | None
    scores: dict[str, Curve]
    updates: int
    resume: str
    problem: str = ""

    @property
    def name(self) -> str:
        """Return the names of the system's folder and of the run's folder that it is in."""
        root = self.root.resolve()
        system = root.parent if root.name == "checkpoints" else root  # as experiments place them
        return " \u00b7 ".join(filter(None, (system.name, system.parent.name)))

    @property
    def checkpoints(self) -> list[str]:
        """Return the names of the checkpoint files."""
        return sorted(path.name for path in self.root.glob("*.pt"))


def read_training_folder(root: Path, from_checkpoint: bool = False) -> TrainingFolder:
    """Read a training folder.

    Args:
        root: the folder.
        from_checkpoint: whether to open the last checkpoint if `runs.json` is missing.

    Raises:
        OSError: a file cannot be read.
        ValueError: `runs.json` is damaged.
    """
    runs = read_runs(root)
    if not runs and from_checkpoint and (root / LAST).is_file():
        runs = [_run_of(root / LAST)]
    whole = _losses(read_losses(root))
    losses = {name: _thinned(curve) for name, curve in whole.items()}
    scores, problem = {}, ""
    try:
        scores = _scores(root / VALIDATIONS)
    except ValueError as error:
        problem = str(error)
    reached = [next(reversed(curve)) for curve in (*losses.values(), *scores.values()) if curve]
    updates = max([*reached, *(run.updates for run in runs)], default=0)
    best, speed, resume = _best(whole), _speed(whole), _resume(root, runs)
    return TrainingFolder(root, runs, losses, best, speed, scores, updates, resume, problem)


def read_loss_curve(folders: Sequence[Path], subset: str) -> Curve:
    """The losses of a validation set, or of training, ordered by update.

    Args:
        folders: of successive trainings; if several have an update, the later folder counts.
        subset: name of a validation set, or `training`: at most `POINTS` points of each folder.

    Raises:
        UserError: a folder has no losses of it.
    """
    curve: Curve = {}
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"`NAME=SAVE_DIR` must be folders of trainings; {folder} is not one")
        try:
            losses = _losses(read_losses(folder))
        except OSError as error:
            raise UserError(
                f"`NAME=SAVE_DIR` must be readable; {error.filename}: {error.strerror}"
            ) from None
        if subset not in losses:
            raise UserError(
                f"`NAME=SAVE_DIR` must have the losses of {subset} in {METRICS}; {folder} has "
                f"{'those of ' + ', '.join(losses) if losses else 'none'}"
            )
        curve |= _thinned(losses[subset])
    return dict(sorted(curve.items()))


def _losses(by_tag: Mapping[str, Curve]) -> dict[str, Curve]:
    """Return the training loss per `--log-interval`, else per epoch, and the validation losses."""
    training = by_tag.get(INNER) or by_tag.get(EPOCH) or {}
    others = {tag: curve for tag, curve in by_tag.items() if tag not in (INNER, EPOCH)}
    curves = {TRAINING: training, **others}
    return {name: curve for name, curve in curves.items() if curve}


def _best(losses: Mapping[str, Curve]) -> tuple[float, int] | None:
    validated = (curve for name, curve in losses.items() if name != TRAINING)
    points = next(validated, {}).items()
    return min(((each["loss"], update) for update, each in points if "loss" in each), default=None)


def _speed(losses: Mapping[str, Curve]) -> float | None:
    speeds = [values[SPEED] for values in losses.get(TRAINING, {}).values() if SPEED in values]
    return median(speeds) if speeds else None


def _thinned(curve: Curve) -> Curve:
    every = -(-len(curve) // POINTS)
    kept = list(curve)[::-1][::every][::-1]  # always keeps the last point
    return {update: curve[update] for update in kept}


def _scores(path: Path) -> dict[str, Curve]:
    rows = read_validations([path]) if path.is_file() else {}
    curves = {group: curve_of(rows, group) for group in ("supervised", "zero-shot")}
    return {group: _thinned(curve) for group, curve in curves.items() if curve}


def _run_of(checkpoint: Path) -> Run:
    from tdo_plugin.checkpoints import describe, read

    state = read(checkpoint, "SAVE_DIR")
    made_by: Mapping[str, Any] = state.get("made_by") or {}
    settings = state.get("cfg") or {"args": state.get("args")}
    return Run(
        started="",
        command=str(made_by.get("command", "")),
        options=effective_options(settings),
        versions=dict(made_by.get("versions") or {}),
        commit=made_by.get("commit"),
        machine={},
        data={},
        state="",
        updates=describe(checkpoint, state).updates,
    )


def _resume(root: Path, runs: list[Run]) -> str:
    """Return a `tdo resume` command if possible, else the command of the last run."""
    if runs and runs[-1].state_now() == FINISHED:
        return ""
    if (root / RECORD).is_file():
        try:
            read_record(root)
        except UserError:
            pass
        else:
            return shlex.join(["tdo", "resume", str(root.resolve())])
    return runs[-1].command if runs else ""
