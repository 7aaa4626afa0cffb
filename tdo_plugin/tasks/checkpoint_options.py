"""Takes options that a command line leaves out from the checkpoint that it names.

When a checkpoint is used, fairseq reads the options of its task from the command line and uses
defaults for the rest. Here everything that affects how text becomes model input is as in the
model's training: :func:`complete` runs on each fairseq command line right after it is parsed.
"""

from __future__ import annotations

import contextlib
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq import utils
from fairseq.tasks import TASK_REGISTRY

from tdo_compat.settings import literal
from tdo_plugin.checkpoints import read
from tdo_plugin.errors import UserError
from tdo_plugin.tasks.source_noise import SHARES
from tdo_plugin.tasks.tdo_translation import TdoTranslationTask
from tdo_plugin.text_settings import (
    SIDES,
    State,
    apply,
    check_members,
    check_settings,
    fixed_languages,
    is_converted,
    is_multilingual,
    languages_of,
    pairs_of,
    settings_of,
    shown,
    task_name,
    task_options,
)

LIMITS = ("max_source_positions", "max_target_positions")
USUAL_RESTORE = "checkpoint_last.pt"  # fairseq's default, in --save-dir
LEAVE_OUT = " (options that are left out are taken from the checkpoint)"
MASKED = "mono_dae"  # a data category of fairseq's for which the dictionary gets a mask symbol


def task_of(paths: str) -> str | None:
    """The task of the checkpoints of ``--path``, if it is multilingual and known here."""
    first = Path(utils.split_paths(paths)[0])
    state = read(first, "--path") if first.is_file() else {}
    name = task_name(state)
    return name if is_multilingual(state) and name in TASK_REGISTRY else None


def complete(args: Namespace, parser: ArgumentParser, words: Sequence[str] | None) -> None:
    """Take options about text that a command line leaves out from the checkpoint that it names.

    For generation and validation this is the checkpoint of ``--path``, for training the one that
    it starts from. Nothing is taken if the command sets a task, and neither this nor the
    checkpoint's is from this package.

    Args:
        args: the parsed options; changed in place.
        parser: of the command.
        words: of the command line; None: those of the process.

    Raises:
        UserError: an option differs from the checkpoint, or the checkpoints of an ensemble differ.
    """
    if not hasattr(args, "lang_tok_style"):
        return
    named = _checkpoints(args)
    whole = getattr(args, "checkpoint_shard_count", 1) == 1
    if words is None and whole and not _trains(args):  # the start of a command
        _check_there(named)
    paths = [path for path in named if path.is_file()]
    if not paths:
        return
    members = {path: read(path, "--path") for path in dict.fromkeys(paths)}
    if not all(map(is_multilingual, members.values())):
        return
    explicit = _given(args, parser, words)
    if "task" in explicit and not any(map(_ours, (args.task, *map(task_name, members.values())))):
        return
    check_members(members)
    state = next(iter(members.values()))
    _take_settings(args, explicit, state)
    _take_limits(args, explicit, state)
    _take_languages(args, explicit, state)


def _checkpoints(args: Namespace) -> list[Path]:
    """The checkpoints that the command will load, as fairseq finds them; some may be missing."""
    suffix = getattr(args, "checkpoint_suffix", None) or ""
    if not _trains(args):
        names = utils.split_paths(args.path or "")
        return [Path(name.replace(".pt", f"{suffix}.pt")) for name in names if name]
    restored = getattr(args, "restore_file", None)
    if restored is None:  # the command loads no checkpoint
        return []
    if restored != USUAL_RESTORE:
        return [Path(restored.replace(".pt", f"{suffix}.pt"))]
    last = Path(args.save_dir, f"checkpoint_last{suffix}.pt")
    begun = getattr(args, "continue_once", None) or getattr(args, "finetune_from_model", None)
    return [last] if last.exists() else [Path(begun)] if begun else []


def _check_there(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "missing"
            raise UserError(f"`--path` must be a checkpoint; {shown(str(path))} is {what}")


def _trains(args: Namespace) -> bool:
    return not hasattr(args, "path")


def _ours(task: Any) -> bool:
    return issubclass(TASK_REGISTRY.get(task, object), TdoTranslationTask)


def _given(args: Namespace, parser: ArgumentParser, words: Sequence[str] | None) -> set[str]:
    """The options set on the command line.

    argparse fills in defaults only for missing attributes: parsed once more with every attribute
    preset to None, options that are not set stay None.
    """
    blank = Namespace(**dict.fromkeys(vars(args)))
    read, _ = parser.parse_known_args(words, blank)
    return {name for name, value in vars(read).items() if value is not None}


def _take_settings(args: Namespace, explicit: set[str], state: State) -> None:
    stored, command_settings = settings_of(task_options(state)), settings_of(args)
    if "main" in (args.langtoks or {}):
        explicit = {*explicit, *SIDES}
    requested = {name: command_settings[name] for name in command_settings if name in explicit}
    if _trains(args) and is_converted(state):
        stored = {**stored, **requested}  # a converted model may be trained with other tags
    check_settings(requested, stored, LEAVE_OUT)
    apply(stored, args)
    options = task_options(state)
    for share in (f"source_noise_{name}" for name in SHARES):  # free, unless there is no noise
        if "source_noise" not in explicit and share not in explicit and hasattr(options, share):
            setattr(args, share, getattr(options, share))
    masked = MASKED in (getattr(options, "extra_data", None) or {})
    if masked and not args.extra_data and not _trains(args):
        args.extra_data = {MASKED: ""}  # no data are read: only the symbol is needed


def _take_limits(args: Namespace, explicit: set[str], state: State) -> None:
    """Maximum source and target positions, which set the table size of learned positions.

    Computed positions may have another maximum in a later training. Decoding may use a lower
    maximum, to cut or skip longer sentences, but a higher one only if the model's is also raised.
    """
    options = task_options(state)
    learned = getattr(options, "tdo_position_embedding", None) == "learned"
    overrides = _overrides(args)
    for name in LIMITS:
        limit = overrides.get(name, getattr(options, name, None))
        if not isinstance(limit, int):  # missing in older checkpoints
            continue
        value = getattr(args, name)
        option = f"--{name.replace('_', '-')}"
        if name not in explicit:
            setattr(args, name, limit)
        elif _trains(args) and learned and value != limit:
            raise UserError(
                f"`{option}` must be the checkpoint's {shown(limit)}, since its positions are "
                f"learned; it is {value}"
            )
        elif not _trains(args) and value > limit:
            more = "" if learned else f" (`--model-overrides \"{{'{name}': {value}}}\"` raises it)"
            raise UserError(
                f"`{option}` must be at most the checkpoint's {shown(limit)}; it is {value}{more}"
            )


def _overrides(args: Namespace) -> dict[str, Any]:
    """The changes of ``--model-overrides``; fairseq itself reports invalid text."""
    with contextlib.suppress(ValueError, TypeError):
        return dict(literal(getattr(args, "model_overrides", "{}")))
    return {}


def _take_languages(args: Namespace, explicit: set[str], state: State) -> None:
    """Languages determine the tags and must match; directions are free, and set in training."""
    languages = fixed_languages(state)
    if "langs" in explicit and languages is not None and args.langs != languages:
        raise UserError(
            f"`--langs` must be the checkpoint's, {shown(languages)}; it is {shown(args.langs)} "
            "(`tdo extend` adds languages)"
        )
    if languages is None and not _trains(args):
        languages = languages_of(state)
    if languages is not None and not {"langs", "lang_dict"} & explicit:
        args.langs = languages
    if "lang_pairs" not in explicit and not _trains(args):
        args.lang_pairs = ",".join(pairs_of(state))
