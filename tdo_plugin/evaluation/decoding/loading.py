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
from tdo_plugin.names import check_languages as check_languages_of
from tdo_plugin.text_settings import (
    check_members,
    is_multilingual,
    languages_of,
    settings_of,
    task_options,
)

LIMITS = ("max_source_positions", "max_target_positions")
MAX_POSITIONS = 1024  # fairseq's default for a task


def load_models(checkpoints: Sequence[Path], data: DataFolder) -> tuple[list[Any], Any]:
    """The models, on the CPU, and the task that they share.

    Raises:
        UserError: the checkpoints are none of a multilingual task, do not fit the data, or are of
            models that read text of different ways.
    """
    from fairseq import checkpoint_utils

    overrides = _overrides(checkpoints, data)
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


def check_languages(languages: Sequence[str], direction: str) -> None:
    """Raise UserError where a checkpoint of these languages lacks one of the direction's."""
    for language in direction.split("-"):
        if language not in languages:
            raise UserError(
                f"the checkpoint must know the languages of {direction}; it knows "
                f"{', '.join(languages)}, not {language}"
            )


def has_set(data: DataFolder, split: str, direction: str) -> bool:
    """Whether the folder holds a split of a direction; fairseq reads a pair both ways."""
    source, target = direction.split("-")
    return any(
        (data.root / f"{split}.{pair}.{source}.idx").is_file()
        for pair in (direction, f"{target}-{source}")
    )


def _overrides(checkpoints: Sequence[Path], data: DataFolder) -> dict[str, Any]:
    """What is different from training: where the data is, and that nothing is trained.

    A task that knows source and target loads two dictionaries instead of one a language.
    """
    state = state_of(checkpoints)
    settings, languages = settings_of(task_options(state)), languages_of(state)
    first, second = _two_of(languages, data)
    overrides: dict[str, Any] = {
        **{"data": str(data.root), "source_lang": first, "target_lang": second},
        # a file of languages would go before their list, and need not be there any more
        **{"langs": languages, "lang_dict": None},
        "truncate_source": False,  # what is too long to translate is said, not cut
    }
    for side in ("left_pad_source", "left_pad_target"):
        # fairseq takes these as text and would read a stored True as False
        overrides[side] = str(settings[side])
    return overrides | limits_of(state)


def state_of(checkpoints: Sequence[Path]) -> dict[str, Any]:
    """The first checkpoint, whose task is that of all.

    Raises:
        UserError: one is of no multilingual task, or they read text of different ways.
    """
    members = {path: _multilingual(path) for path in checkpoints}
    check_members(members)
    return next(iter(members.values()))


def limits_of(state: dict[str, Any]) -> dict[str, int]:
    """The lengths that decoding takes, by option; none where the model's positions are learned.

    In training they are limits that spare memory; sinusoidal positions have none.
    """
    cfg = state.get("cfg") or {}
    model = cfg.get("model") if cfg else state.get("args")
    options = vars(model) if isinstance(model, Namespace) else dict(model or {})
    return {} if _has_learned_positions(options) else dict.fromkeys(LIMITS, MAX_POSITIONS)


def known_languages(checkpoint: Path) -> list[str]:
    """The languages of a checkpoint's task.

    Raises:
        UserError: it is none of a multilingual task.
    """
    return languages_of(_multilingual(checkpoint))


def _multilingual(checkpoint: Path) -> dict[str, Any]:
    state = read(checkpoint, "--path")
    if not is_multilingual(state):
        options = task_options(state)
        name = getattr(options, "_name", None) or getattr(options, "task", None)
        raise UserError(
            "`--path` must name checkpoints of tdo_translation or translation_multi_simple_epoch; "
            f"{checkpoint} is of {name or 'no task'}"
        )
    check_languages_of(languages_of(state), f"`{checkpoint}`")
    return state


def _two_of(names: Sequence[str], data: DataFolder) -> tuple[str, str]:
    """Two languages that the data folder has dictionaries of; they are all alike."""
    with_dictionary = [name for name in names if (data.root / f"dict.{name}.txt").is_file()]
    return (with_dictionary or names)[0], (with_dictionary or names)[-1]


def _has_learned_positions(options: dict[str, Any]) -> bool:
    return options.get("tdo_position_embedding") == "learned" or any(
        options.get(f"{side}_learned_pos") for side in ("encoder", "decoder")
    )
