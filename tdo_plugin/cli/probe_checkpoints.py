"""The models of `tdo probe`, and their checkpoints by updates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.cli.named_models import by_name
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import training_of

MANY = "MODEL[,MODEL...]"


def named(texts: Sequence[str]) -> dict[str, list[Path]]:
    """Models and their checkpoints, in order.

    Raises:
        UserError: a name occurs twice, or is missing although there are several models.
    """
    models = {}
    for name, files in by_name(texts, MANY).items():
        if not all(files.split(",")):
            raise UserError(f"`--path` must be [NAME=]{MANY}; it has {files}")
        models[name] = [Path(path) for path in files.split(",")]
    return models


def checkpoints_of(models: dict[str, list[Path]]) -> dict[str, list[tuple[int, Path]]]:
    """The number of updates and the file of every checkpoint, sorted by updates.

    Raises:
        UserError: a name's checkpoints differ in model options, or two have the same updates.
    """
    from tdo_plugin.checkpoints import describe, options, read, regular

    checkpoints: dict[str, list[tuple[int, Path]]] = {}
    for name, entries in models.items():
        paths = [
            path
            for entry in entries
            for path in (regular(training_of(entry)) if entry.is_dir() else [entry.resolve()])
        ]
        first: dict[str, str] | None = None
        by_updates: dict[int, Path] = {}
        for path in paths:
            state = read(path, "--path")
            model_options = options(state)
            first = first or model_options
            if model_options != first:
                key = next(
                    key
                    for key in sorted({*model_options, *first})
                    if model_options.get(key) != first.get(key)
                )
                raise UserError(
                    f"`--path` must name checkpoints of a single model for {name}; {paths[0]} and "
                    f"{path} differ in {key}"
                )
            seen = describe(path, state).updates
            if seen in by_updates:
                raise UserError(
                    f"`--path` must name checkpoints with different numbers of updates for {name}; "
                    f"{by_updates[seen]} and {path} both have {seen}"
                )
            by_updates[seen] = path
        checkpoints[name] = sorted(by_updates.items())
    return checkpoints
