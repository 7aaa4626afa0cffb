"""Checkpoints of a multilingual task, opened beside a data folder of their dictionary."""

from __future__ import annotations

import copy
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tdo_plugin.checkpoints import read
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError

MAX_POSITIONS = 1024  # fairseq's default for a task


def load_models(checkpoints: Sequence[Path], data: DataFolder) -> tuple[list[Any], Any]:
    """The models, on the CPU, and the task that they share.

    Raises:
        UserError: the checkpoints are none of a multilingual task, or do not fit the data.
    """
    from fairseq import checkpoint_utils

    overrides, *_ = [_overrides(path, data) for path in checkpoints]
    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(path) for path in checkpoints], arg_overrides=overrides
    )
    return models, task


def task_of(base: Any, direction: str) -> Any:
    """The task as fairseq-generate would have set it up for one direction.

    Args:
        base: of the checkpoints.
        direction: such as `de-fr`.

    Raises:
        UserError: the checkpoints do not know a language of it.
    """
    check_languages(base.langs, direction)
    args = copy.copy(base.args)
    args.source_lang, args.target_lang = direction.split("-")
    shared = dict.fromkeys(base.langs, next(iter(base.dicts.values())))
    return type(base)(args, base.langs, shared, training=False)


def check_languages(known: Sequence[str], direction: str) -> None:
    """Raise UserError where a checkpoint of these languages lacks one of the direction's."""
    for language in direction.split("-"):
        if language not in known:
            raise UserError(
                f"the checkpoint must know the languages of {direction}; it knows "
                f"{', '.join(known)}, not {language}"
            )


def has_set(data: DataFolder, split: str, direction: str) -> bool:
    """Whether the folder holds a split of a direction; fairseq reads a pair both ways."""
    source, target = direction.split("-")
    return any(
        (data.root / f"{split}.{pair}.{source}.idx").is_file()
        for pair in (direction, f"{target}-{source}")
    )


def _overrides(checkpoint: Path, data: DataFolder) -> dict[str, Any]:
    """What is different from training: where the data is, and that nothing is trained.

    A task that knows source and target loads two dictionaries instead of one a language.
    """
    state = read(checkpoint, "--path")
    settings = _task_settings(checkpoint, state)
    first, second = _two_of(settings["langs"], data)
    overrides = {"data": str(data.root), "source_lang": first, "target_lang": second}
    overrides["truncate_source"] = False  # what is too long to translate is said, not cut
    for side in ("left_pad_source", "left_pad_target"):
        # fairseq takes these as text and would read a stored True as False
        overrides[side] = str(settings[side])
    cfg = state.get("cfg") or {}
    model = cfg.get("model") if cfg else state.get("args")
    options = vars(model) if isinstance(model, Namespace) else dict(model or {})
    if not _has_learned_positions(options):
        # a limit that spares memory in training; sinusoidal positions have none in decoding
        overrides |= dict.fromkeys(("max_source_positions", "max_target_positions"), MAX_POSITIONS)
    return overrides


def known_languages(checkpoint: Path) -> list[str]:
    """The languages of a checkpoint's task.

    Raises:
        UserError: it is none of a multilingual task.
    """
    return _names(_task_settings(checkpoint, read(checkpoint, "--path"))["langs"])


def _task_settings(checkpoint: Path, state: dict[str, Any]) -> dict[str, Any]:
    cfg = state.get("cfg") or {}
    task = cfg.get("task") if cfg else state.get("args")
    settings = vars(task) if isinstance(task, Namespace) else dict(task or {})
    if not settings.get("langs") or not settings.get("lang_pairs"):
        name = settings.get("_name") or settings.get("task")
        raise UserError(
            "`--path` must name checkpoints of tdo_translation or translation_multi_simple_epoch; "
            f"{checkpoint} is of {name}"
        )
    return settings


def _names(languages: Any) -> list[str]:
    return languages.split(",") if isinstance(languages, str) else list(languages)


def _two_of(languages: Any, data: DataFolder) -> tuple[str, str]:
    """Two languages that the data folder has dictionaries of; they are all alike."""
    names = _names(languages)
    there = [name for name in names if (data.root / f"dict.{name}.txt").is_file()]
    return (there or names)[0], (there or names)[-1]


def _has_learned_positions(options: dict[str, Any]) -> bool:
    return options.get("tdo_position_embedding") == "learned" or any(
        options.get(f"{side}_learned_pos") for side in ("encoder", "decoder")
    )
