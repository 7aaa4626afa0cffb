"""Finds, compares and averages fairseq checkpoints."""

import json
import math
import os
import re
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_compat.checkpoint import blaming, safe_load
from tdo_compat.checkpoint_form import with_form
from tdo_plugin.errors import UserError
from tdo_plugin.modules.checkpoint_upgrade import upgraded

State = dict[str, Any]

# fairseq's names of checkpoints written after a number of updates or an epoch; checkpoints chosen
# by validation are copies of these while the originals are kept.
REGULAR = re.compile(r"checkpoint(\d+|_\d+_(?P<updates>\d+))\.pt")
CHOSEN = re.compile(r"checkpoint(\.best_.+|_best)\.pt")
LAST = re.compile(r"checkpoint_last\.pt")  # usually a copy too

# Options that determine what a model's parameters mean; all others, from the data folder to the
# learning rate, may differ between checkpoints of one run.
MEANING = re.compile(
    r"_name|arch|activation_fn|cross_self_attention|layernorm_embedding|lang_tok\w+|"
    r"max_(source|target)_positions|(tdo|encoder|decoder|share|adaptive)(_\w+)?|"
    r"no_(scale_embedding|token_positional_embeddings|cross_attention|decoder_final_norm)"
)
FREE = re.compile(r"\w*(dropout|layerdrop|freeze|xformers)\w*|tdo_plain")

# A tensor in which fairseq's modules keep their type and device; its value is never set.
TYPE_ONLY = re.compile(r"(.+\.)?_float_tensor")


@dataclass(frozen=True)
class Candidate:
    """A checkpoint.

    Attributes:
        path: of the file.
        updates: number of updates; 0 if the file does not record it.
        loss: its validation loss, or the metric that chose the best checkpoint; None without one.
        maximize: whether higher values of that metric are better.
    """

    path: Path
    updates: int
    loss: float | None = None
    maximize: bool = False


def read(path: Path, option: str = "--path") -> State:
    """A checkpoint, with its tensors memory-mapped.

    Args:
        path: of the file.
        option: that sets it, for messages.

    Raises:
        UserError: the file is missing.
        CheckpointError: it is damaged, or not a checkpoint of a model.
    """
    if not path.is_file():
        raise UserError(f"`{option}` must name files that exist; {path} does not")
    try:
        # files of older torch versions cannot be mapped
        mapped = zipfile.is_zipfile(path)
        state = safe_load(str(path), map_location="cpu", mmap=mapped or None)
    except OSError as error:
        raise UserError(f"`{option}` must be readable; {path}: {error.strerror}") from None
    return with_form(state, path)


def describe(path: Path, state: State) -> Candidate:
    """The information that a checkpoint records about itself."""
    with blaming(path):
        return _described(path, state)


def _described(path: Path, state: State) -> Candidate:
    history = state.get("optimizer_history") or [{}]
    loss = (state.get("extra_state") or {}).get("val_loss")
    loss = None if loss is None or not math.isfinite(loss) else float(loss)
    saving = (state.get("cfg") or {}).get("checkpoint") or {}
    maximize = bool(saving.get("maximize_best_checkpoint_metric", False))
    return Candidate(path, int(history[-1].get("num_updates", 0)), loss, maximize)


def is_checkpoint(name: str) -> bool:
    """Whether fairseq writes checkpoints under this file name."""
    return any(names.fullmatch(name) for names in (REGULAR, CHOSEN, LAST))


def validated(folder: Path) -> bool:
    """Whether a checkpoint of a folder has a validation loss, or the metric that is used."""
    return bool(_validated(folder, 0))


def last_of(folder: Path, count: int, option: str = "--last") -> list[Path]:
    """The ``count`` checkpoints of a folder with the most updates, newest first.

    These are the regular ones, and the last if it is none of them.

    Raises:
        UserError: the folder has fewer.
    """
    newest = _by_updates(folder)[::-1]
    return _enough(option, newest, count, f"checkpoints in {folder}")


def newest_of(folder: Path) -> Path:
    """The checkpoint of a training's folder with the most updates, which may be the best one."""
    chosen = [path for path in sorted(folder.iterdir()) if CHOSEN.fullmatch(path.name)]
    return (_by_updates(folder) or sorted(chosen, key=lambda p: describe(p, read(p)).updates))[-1]


def regular(folder: Path, option: str = "--path") -> list[Path]:
    """The checkpoints of `last_of` in the order of updates, one for each number of updates.

    Raises:
        UserError: the folder has none.
    """
    checkpoints = _by_updates(folder)
    if not checkpoints:
        raise UserError(f"`{option}` must be a folder with checkpoints; {folder} has none")
    return checkpoints


def _by_updates(folder: Path) -> list[Path]:
    by_updates: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        if match := REGULAR.fullmatch(path.name):
            stated = match["updates"]
            by_updates[int(stated) if stated else describe(path, read(path)).updates] = path
    if (last := folder / "checkpoint_last.pt").is_file():
        by_updates.setdefault(describe(last, read(last)).updates, last)
    return [by_updates[updates] for updates in sorted(by_updates)]


def best_of(folder: Path, count: int, option: str = "--best", since: int = 0) -> list[Path]:
    """The ``count`` checkpoints of a folder with the best validation loss, best first.

    Copies of one checkpoint under several names count once. If the run maximizes a metric, higher
    is better. Checkpoints with fewer updates than ``since`` are ignored.

    Raises:
        UserError: fewer checkpoints have a validation loss.
    """
    ranked = sorted(_validated(folder, since), key=_rank)
    what = f"checkpoints with validation in {folder}" + (
        f" from update {since} on" if since else ""
    )
    return _enough(option, [candidate.path for candidate in ranked], count, what)


def _validated(folder: Path, since: int) -> list[Candidate]:
    """A checkpoint with validation for each number of updates from `since` on."""
    candidates: dict[int, Candidate] = {}
    paths = sorted(folder.iterdir())
    for names in (REGULAR, CHOSEN, LAST):
        for path in (path for path in paths if names.fullmatch(path.name)):
            candidate = describe(path, read(path))
            if candidate.loss is not None and candidate.updates >= since:
                candidates.setdefault(candidate.updates, candidate)
    return [*candidates.values()]


def _rank(candidate: Candidate) -> tuple[float, int]:
    """Sort key: better first, and later first among equals."""
    assert candidate.loss is not None
    return -candidate.loss if candidate.maximize else candidate.loss, -candidate.updates


def _enough(option: str, paths: list[Path], count: int, what: str) -> list[Path]:
    if count < 1:
        raise UserError(f"`{option}` must be at least 1; it is {count}")
    if count > len(paths):
        raise UserError(
            f"`{option}` must be at most {len(paths)}, the number of {what}; it is {count}"
        )
    return paths[:count]


def average(
    paths: Sequence[Path], progress: Callable[[Candidate], None] = lambda candidate: None
) -> State:
    """The mean of the parameters, computed in float64, as a checkpoint in the inputs' type.

    Configuration, task state and integer entries are those of the input with the most updates;
    optimizer state is left out; tied parameters stay tied. Inputs are compared before averaging and
    read one by one: two models are in memory, one of them in float64.

    Args:
        paths: of the checkpoints.
        progress: called with each checkpoint before it is added.

    Raises:
        UserError: inputs are missing, damaged, repeated, or of different models.
    """
    if len({*map(os.path.realpath, paths)}) < len(paths):
        raise UserError("`--path` must name each checkpoint once; some are repeated")
    reference = _read_upgraded(paths[0])
    inputs, ties = [], []
    for path in paths:
        state = _read_upgraded(path)
        _compare(paths[0], reference, path, state)
        inputs.append(describe(path, state))
        ties.append(_first_of_storage(state["model"]))
    newest = max(inputs, key=lambda candidate: candidate.updates)
    names = {name: tuple(tie[name] for tie in ties) for name in reference["model"]}
    del reference, state

    sums: dict[tuple[str, ...], Tensor] = {}
    for candidate in inputs:
        progress(candidate)
        _add(_read_upgraded(candidate.path)["model"], names, sums, candidate.path)
    return _result(_read_upgraded(newest.path), inputs, names, sums)


def _read_upgraded(path: Path) -> State:
    """As :func:`read`, with current parameter names, so that older checkpoints of a run match."""
    state = read(path)
    return {**state, "model": upgraded(state["model"])}


def _first_of_storage(model: Mapping[str, Tensor]) -> dict[str, str]:
    """For each entry the first entry that is the same tensor, or itself."""
    first: dict[Any, str] = {}
    for name, value in model.items():
        first.setdefault(_place(value), name)
    return {name: first[_place(value)] for name, value in model.items()}


def _place(value: Tensor) -> tuple[Any, ...]:
    storage = value.untyped_storage().data_ptr()
    return storage, value.storage_offset(), value.shape, value.stride()


def _add(
    model: Mapping[str, Tensor],
    names: Mapping[str, tuple[str, ...]],
    sums: dict[tuple[str, ...], Tensor],
    path: Path,
) -> None:
    """Add a model's floating-point entries; entries that are tied in all inputs are added once."""
    added = set()
    for name, tie in names.items():
        value = model[name]
        if not value.is_floating_point() or tie in added or TYPE_ONLY.fullmatch(name):
            continue
        if not torch.isfinite(value).all():
            raise UserError(f"`--path` must have finite parameters; {name} in {path} does not")
        added.add(tie)
        if tie in sums:
            sums[tie] += value
        else:
            sums[tie] = value.to(torch.float64, copy=True)


def _result(
    newest: State,
    inputs: Sequence[Candidate],
    names: Mapping[str, tuple[str, ...]],
    sums: dict[tuple[str, ...], Tensor],
) -> State:
    """The checkpoint to write. fairseq requires a training position, even for decoding."""
    model, means = newest["model"], {}
    for name, tie in names.items():
        if tie in sums:
            means[tie] = (sums.pop(tie) / len(inputs)).to(model[name].dtype)
        model[name] = means.get(tie, model[name])
    extra = newest.get("extra_state") or {}
    averaged = [
        {"name": candidate.path.name, "num_updates": candidate.updates, "val_loss": candidate.loss}
        for candidate in inputs
    ]
    kept = ("args", "cfg", "criterion", "made_by", "optimizer_history", "task_state")
    return {
        **{key: newest[key] for key in kept if key in newest},
        "model": model,
        "extra_state": {
            **{key: extra[key] for key in ("train_iterator",) if key in extra},
            "val_loss": None,
            "averaged": averaged,
        },
    }


def _compare(first_path: Path, first: State, path: Path, state: State) -> None:
    """Raise UserError unless both checkpoints are of the same model."""
    with blaming(f"{first_path} or {path}"):
        _compare_parts(f"{first_path} and {path}", first, state)


def _compare_parts(both: str, first: State, state: State) -> None:
    differs = f"`--path` must be checkpoints of one model; {both} differ in "
    first_options, second_options = options(first), options(state)
    # older checkpoints lack newer options, which then have their defaults
    if first_options.keys() != second_options.keys():
        first_options, second_options = (
            {**_defaults(), **stored} for stored in (first_options, second_options)
        )
    for key in sorted({*first_options, *second_options}):
        if first_options.get(key) != second_options.get(key):
            raise UserError(
                f"{differs}{key}: {first_options.get(key)} and {second_options.get(key)}"
            )
    model, second_model = first["model"], state["model"]
    if name := next(iter(sorted(set(model) ^ set(second_model))), None):
        raise UserError(f"{differs}{name}, which only one of them has")
    for name, value in model.items():
        pair = [f"{_kind(tensor)} {list(tensor.shape)}" for tensor in (value, second_model[name])]
        if pair[0] != pair[1]:
            raise UserError(f"{differs}{name}: {pair[0]} and {pair[1]}")
    tasks = [checkpoint.get("task_state") or {} for checkpoint in (first, state)]
    # for older checkpoints these are in the options, which have been compared
    ours = {"remembered"} | ({*tasks[0]} ^ {*tasks[1]}) & {"text", "text_form"}
    for key in sorted({*tasks[0], *tasks[1]} - ours):
        if tasks[0].get(key) != tasks[1].get(key):
            raise UserError(f"{differs}{key} of the task's state, so in their data")


def _defaults() -> dict[str, str]:
    from tdo_plugin.models.config import TdoConfig

    return {
        option.name: json.dumps(option.default, default=str)
        for option in fields(TdoConfig)
        if option.name != "_name"
    }


def _kind(value: Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def options(state: State) -> dict[str, str]:
    """The options of a checkpoint that determine the meaning of its parameters, each as text."""
    config = state["cfg"]["model"] if state.get("cfg") else state.get("args")
    pairs: Iterable[tuple[str, Any]] = ()
    if isinstance(config, Namespace):
        pairs = vars(config).items()
    elif isinstance(config, Mapping):
        pairs = config.items()
    return {
        key: json.dumps(value, default=str, sort_keys=True)
        for key, value in pairs
        if MEANING.fullmatch(key) and not FREE.fullmatch(key)
    }
