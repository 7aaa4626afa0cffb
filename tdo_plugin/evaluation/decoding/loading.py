"""Loading checkpoints of a multilingual task with a data folder that has their dictionary."""

from __future__ import annotations

import copy
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tdo_compat.checkpoint import blaming
from tdo_plugin.checkpoints import State, read
from tdo_plugin.data.databin import MARK, DataFolder, how_to_adopt
from tdo_plugin.errors import UserError
from tdo_plugin.names import check_languages as check_languages_of
from tdo_plugin.text_settings import (
    check_members,
    is_multilingual,
    languages_of,
    settings_of,
    task_name,
    task_options,
)

LIMITS = ("max_source_positions", "max_target_positions")
MAX_POSITIONS = 1024  # fairseq's default for a task


def load_models(checkpoints: Sequence[Path], data: DataFolder) -> tuple[list[Any], Any]:
    """The models, on the CPU, and their common task.

    Raises:
        UserError: the checkpoints are not of a multilingual task, do not match the data, or have
            models with different text processing, or parameters that are not finite.
    """
    import torch
    from fairseq import checkpoint_utils

    with blaming(":".join(map(str, checkpoints))):
        overrides = _overrides(checkpoints, data)
    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(path) for path in checkpoints], arg_overrides=overrides
    )
    for path, model in zip(checkpoints, models, strict=True):
        for name, parameter in model.named_parameters():
            if not torch.isfinite(parameter).all():
                raise UserError(
                    f"`{path}` must have finite parameters; {name} has infinite ones or NaN, as "
                    "after a training that diverged"
                )
    return models, task


def recorded_data(checkpoint: Path, state: State, option: str = "--data") -> Path:
    """The data folder that a checkpoint was trained on, as it records.

    Args:
        checkpoint: its file, for messages.
        state: its content.
        option: that sets the folder, for messages.

    Raises:
        UserError: it is not of a multilingual task, or the folder is not there.
    """
    if not is_multilingual(state):
        raise UserError(f"`MODEL` must be of a multilingual task; {checkpoint} is not")
    recorded = str(getattr(task_options(state), "data", None) or "")
    root = Path(recorded.split(":")[0])  # as fairseq separates shards
    if not recorded or not (root / MARK).is_file():
        raise UserError(
            f"`{option}` must name the data folder of {checkpoint}; it was trained on "
            f"{recorded or 'an unknown folder'}, which is not a data folder here"
            f"{how_to_adopt(root)}"
        )
    return root


def quantise_model(model: Any) -> None:
    """Compute a model's matrix products in 8-bit integers from now on.

    Raises:
        UserError: another package's model, or a machine for which torch has no kernels.
    """
    from tdo_plugin.models.tdo_transformer import TdoTransformer
    from tdo_plugin.modules.int8_products import is_available, quantise_

    if not isinstance(model, TdoTransformer):
        raise UserError(
            f"`--precision` must be fp32, fp16 or bf16 for a {type(model).__name__}, which is not "
            "a model of this package; it is int8"
        )
    if not is_available():
        raise UserError(
            "`--precision` must be fp32 or bf16 unless torch has FBGEMM (on x86); it is int8"
        )
    quantise_(model.core)


def task_of(base: Any, direction: str) -> Any:
    """The task as fairseq-generate would set it up for one direction.

    Args:
        base: the task of the checkpoints.
        direction: such as `de-fr`.

    Raises:
        UserError: the checkpoints lack a language of the direction.
    """
    check_languages(base.langs, direction)
    args = copy.copy(base.args)
    args.source_lang, args.target_lang = direction.split("-")
    shared = dict.fromkeys(base.langs, next(iter(base.dicts.values())))
    return type(base)(args, base.langs, shared, training=False)


def check_languages(languages: Sequence[str], direction: str) -> None:
    """Raise UserError if a checkpoint's languages lack one of the direction's."""
    for language in direction.split("-"):
        if language not in languages:
            raise UserError(
                f"the checkpoint must know the languages of {direction}; it knows "
                f"{', '.join(languages)}, but not {language}"
            )


def has_set(data: DataFolder, split: str, direction: str) -> bool:
    """Whether the folder has a split of a direction; fairseq uses a pair in both directions."""
    source, target = direction.split("-")
    return any(
        (data.root / f"{split}.{pair}.{source}.idx").is_file()
        for pair in (direction, f"{target}-{source}")
    )


def _overrides(checkpoints: Sequence[Path], data: DataFolder) -> dict[str, Any]:
    """Settings that differ from training: the data folder, and no training.

    A task with source and target language loads two dictionaries instead of one per language.
    """
    state = state_of(checkpoints)
    settings, languages = settings_of(task_options(state)), languages_of(state)
    first, second = _two_of(languages, data)
    overrides: dict[str, Any] = {
        **{"data": str(data.root), "source_lang": first, "target_lang": second},
        # a language file would override the list, and may no longer exist
        **{"langs": languages, "lang_dict": None},
        "truncate_source": False,  # too long sentences are reported, not truncated
    }
    for side in ("left_pad_source", "left_pad_target"):
        # fairseq expects text here and would interpret a stored True as False
        overrides[side] = str(settings[side])
    return overrides | limits_of(state)


def state_of(checkpoints: Sequence[Path]) -> dict[str, Any]:
    """The first checkpoint, whose task represents all.

    Raises:
        UserError: a checkpoint is not of a multilingual task, or they differ in text processing.
    """
    members = {path: _multilingual(path) for path in checkpoints}
    check_members(members)
    return next(iter(members.values()))


def limits_of(state: dict[str, Any]) -> dict[str, int]:
    """Length limits for decoding, by option; empty if the model's positions are learned.

    In training, limits save memory; sinusoidal positions do not need them.
    """
    cfg = state.get("cfg") or {}
    model = cfg.get("model") if cfg else state.get("args")
    options = vars(model) if isinstance(model, Namespace) else dict(model or {})
    return {} if _has_learned_positions(options) else dict.fromkeys(LIMITS, MAX_POSITIONS)


def known_languages(checkpoint: Path) -> list[str]:
    """The languages of a checkpoint's task.

    Raises:
        UserError: the checkpoint is not of a multilingual task.
    """
    return languages_of(_multilingual(checkpoint))


def _multilingual(checkpoint: Path) -> dict[str, Any]:
    state = read(checkpoint, "--path")
    if not is_multilingual(state):
        raise UserError(
            "`--path` must name checkpoints of tdo_translation or translation_multi_simple_epoch; "
            f"{checkpoint} is of {task_name(state) or 'no task'}"
        )
    check_languages_of(languages_of(state), f"`{checkpoint}`")
    return state


def _two_of(names: Sequence[str], data: DataFolder) -> tuple[str, str]:
    """Two languages with a dictionary in the data folder; all dictionaries are equal."""
    with_dictionary = [name for name in names if (data.root / f"dict.{name}.txt").is_file()]
    return (with_dictionary or names)[0], (with_dictionary or names)[-1]


def _has_learned_positions(options: dict[str, Any]) -> bool:
    return options.get("tdo_position_embedding") == "learned" or any(
        options.get(f"{side}_learned_pos") for side in ("encoder", "decoder")
    )
