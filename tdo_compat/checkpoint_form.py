"""Checks that what was read from a checkpoint has the form that fairseq expects.

``file_patches`` installs these functions in fairseq.
"""

import argparse
import functools
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import omegaconf
import torch
from omegaconf.errors import OmegaConfBaseException

from tdo_compat.checkpoint import CheckpointError
from tdo_compat.settings import mapping, shown

GROUP = (dict, argparse.Namespace, omegaconf.DictConfig)  # types of a checkpoint's settings
NAMES = {"task": ("_name", "task"), "model": ("_name", "arch")}  # settings that name its parts
GROUPS = (
    "common", "common_eval", "distributed_training", "dataset", "optimization", "checkpoint",
    "bmuf", "generation", "eval_lm", "interactive", "model", "task", "criterion", "optimizer",
    "lr_scheduler", "scoring", "bpe", "tokenizer", "ema",
)  # fmt: skip
DEEPEST = 50  # levels of groups; fairseq's have a few, and Python's functions fail at some hundred
COUNTS = {"epoch": 0, "iterations_in_epoch": 0, "version": 0}  # least values of a position
MOST = 2**31  # counts are below it; numpy's seeds, which epochs are added to, fail at twice that
NUMBERS = ("val_loss", "best", "previous_training_time")


def well_formed(upgrade: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap fairseq's function that upgrades old checkpoints, to handle any content.

    Args:
        upgrade: takes a checkpoint as read, returns it in the current form.

    Returns:
        the same function, which raises CheckpointError if the content is not a checkpoint.
    """

    @functools.wraps(upgrade)
    def checked(state: Any) -> Any:
        try:
            return upgrade(state)
        except (
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            OmegaConfBaseException,
        ) as error:
            raise CheckpointError(
                f"a checkpoint must have fairseq's format; this one does not "
                f"({type(error).__name__}: {error})"
            ) from error

    return checked


def with_form(state: Any, file: object) -> dict[str, Any]:
    """A checkpoint as read, after checking that its parts have the types that fairseq expects.

    Args:
        state: as read.
        file: its source, for messages.

    Raises:
        CheckpointError: one line on the first part with another type.
    """
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise CheckpointError(
            f"a checkpoint of fairseq must have a `model`, by names; {file} does not"
        )
    _check_depth(state, file)
    _check_parameters("model", state["model"], file)
    if state.get("criterion") is not None:
        _check_kind(file, "criterion", state["criterion"], (dict,))
        _check_parameters("criterion", state["criterion"], file)
    settings: Any = state.get("cfg")
    if settings is None and state.get("args") is None:
        raise CheckpointError(f"{file} must have settings, `cfg` or `args`; it has neither")
    _check_kind(file, "args", state.get("args"), (argparse.Namespace, type(None)))
    _check_kind(file, "cfg", settings, (*GROUP, type(None)))
    for part in ("task_state", "extra_state"):
        _check_kind(file, part, state.get(part, {}), (dict,))
    for part, names in NAMES.items() if state.get("args") is None else ():
        group = settings.get(part)
        _check_kind(file, part, group, GROUP)
        members = mapping(group)
        if not any(isinstance(members.get(name), str) for name in names):
            raise CheckpointError(f"`{part}` of {file} must have a name, `{names[0]}`; it has none")
    _check_settings(settings if settings is not None else {"args": state["args"]}, file)
    _check_sizes(settings, state["model"], file)
    _check_task(state.get("task_state", {}), file)
    _check_origin(state, file)
    _check_optimizer(state.get("last_optimizer_state"), file)
    _check_history(state.get("optimizer_history", []), file)
    _check_progress(state.get("extra_state", {}), file)
    return state


def _check_kind(file: object, name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds):
        raise CheckpointError(
            f"`{name}` of {file} must be a group of settings; it is {type(value).__name__}"
        )


def _check_settings(settings: Any, file: object) -> None:
    """Groups are groups, and have names that are text."""
    for part, group in mapping(settings).items():
        if part in GROUPS and group is not None:
            _check_kind(file, part, group, GROUP)
        if isinstance(group, GROUP):
            members = mapping(group)
            if not all(isinstance(name, str) for name in (part, *members)):
                raise CheckpointError(f"the settings of {file} must have names that are text")
            if not isinstance(members.get("_name", None), (str, type(None))):
                raise CheckpointError(
                    f"`{part}` of {file} must have a name that is text; it is "
                    f"{shown(members['_name'])}"
                )


def _check_sizes(settings: Any, parameters: Mapping[str, Any], file: object) -> None:
    """Refuse a model that is far larger than the file: building it would take all memory."""
    model = mapping(settings["model"]) if settings is not None else {}
    most = {
        "layers": max(1000, len(parameters)),
        "dim": max(100_000, sum(value.numel() for value in parameters.values())),
    }
    for name, value in model.items():
        limit = next((most[end] for end in most if name.endswith(end)), None)
        if limit is not None and isinstance(value, int) and value > limit:
            raise CheckpointError(
                f"`{name}` of {file} must fit its parameters; it is {shown(value)}"
            )


def _check_task(state: Mapping[Any, Any], file: object) -> None:
    for name in ("text", "text_form", "remembered"):
        _check_kind(file, name, state.get(name, {}), (dict,))
    languages = state.get("languages", [])
    if not isinstance(languages, (list, tuple)) or not all(isinstance(x, str) for x in languages):
        raise CheckpointError(
            f"`languages` of {file} must be a list of codes; it is {shown(languages)}"
        )
    if not all(isinstance(name, str) for name in state):
        raise CheckpointError(f"`task_state` of {file} must have names that are text; it does not")


def _check_origin(state: Mapping[Any, Any], file: object) -> None:
    made = state.get("made_by") or {}
    _check_kind(file, "made_by", made, (dict, str))
    made = {} if isinstance(made, str) else made  # without this package's task only a version
    _check_kind(file, "versions", made.get("versions") or {}, (dict,))
    averaged = state.get("extra_state", {}).get("averaged") or []
    if not isinstance(averaged, list) or not all(isinstance(part, dict) for part in averaged):
        raise CheckpointError(f"`averaged` of {file} must be a list of groups; it is not")
    if not isinstance(made.get("command", ""), str):
        raise CheckpointError(f"`command` of {file} must be text; it is {shown(made['command'])}")


def _check_optimizer(state: Any, file: object) -> None:
    """The form of torch's optimizers, which fairseq's have but for those of several parts."""
    if not isinstance(state, dict) or "param_groups" not in state:
        return
    groups = state["param_groups"]
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise CheckpointError(f"`param_groups` of {file} must be a list of groups; it is not")
    named = [name for group in groups for name in _listed(group.get("params"))]
    if len(set(map(repr, named))) < len(named) or not all(type(name) is int for name in named):
        raise CheckpointError(f"`params` of {file} must have each number once; it does not")
    states = state.get("state", {})
    _check_kind(file, "state", states, (dict,))
    for of_one in states.values():
        for value in of_one.values() if isinstance(of_one, dict) else (of_one,):
            if isinstance(value, torch.Tensor) and not _is_dense(value):
                raise CheckpointError(f"the optimizer's state in {file} must have dense tensors")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_dense(value: torch.Tensor) -> bool:
    plain = value.layout == torch.strided and not (value.is_quantized or value.is_nested)
    return plain and not (value.is_meta or value.is_complex())


def _check_depth(state: Any, file: object) -> None:
    """Refuse groups in groups beyond DEEPEST, and groups that contain themselves."""
    heights: dict[int, int] = {}

    def height(value: Any, above: int) -> int:
        members = _members(value)
        if members is None:
            return 0
        if id(value) not in heights:
            below = 0
            if above < DEEPEST:
                below = max((height(member, above + 1) for member in members), default=0)
            heights[id(value)] = below + 1
        if above + heights[id(value)] > DEEPEST:
            raise CheckpointError(
                f"{file} must have groups in at most {DEEPEST} levels; it does not"
            )
        return heights[id(value)]

    height(state, 0)


def _members(value: Any) -> Iterable[Any] | None:
    """What a group contains; None for anything else."""
    group = mapping(value)
    if isinstance(group, dict):
        return group.values()
    return value if isinstance(value, (list, tuple, set, frozenset)) else None


def _check_parameters(part: str, parameters: Mapping[Any, Any], file: object) -> None:
    for name, value in parameters.items():
        if not isinstance(name, str):
            raise CheckpointError(
                f"`{part}` of {file} must have names that are text; one is {shown(name)}"
            )
        problem = ""
        if not isinstance(value, torch.Tensor):
            problem = f"is {type(value).__name__}"
        elif value.layout != torch.strided or value.is_quantized or value.is_nested:
            problem = "is sparse, quantized or nested"
        elif value.is_meta:
            problem = "has no values (device meta)"
        elif value.is_complex():
            problem = "is complex"
        if problem:
            raise CheckpointError(
                f"`{part}` of {file} must consist of tensors of real numbers; {shown(name)} "
                f"{problem}"
            )


def check_kinds(model: torch.nn.Module, parameters: Mapping[str, Any]) -> None:
    """Refuse whole numbers for a model's real parameters, and the other way round.

    Args:
        model: that they are for.
        parameters: of a checkpoint; those with other names are ignored.

    Raises:
        CheckpointError: names the first one.
    """
    for name, own in model.state_dict().items():
        value = parameters.get(name)
        if isinstance(value, torch.Tensor) and value.is_floating_point() != own.is_floating_point():
            kinds = [str(tensor.dtype).removeprefix("torch.") for tensor in (own, value)]
            raise CheckpointError(
                f"{name} of the checkpoint must be {kinds[0]}, as the model's; it is {kinds[1]}"
            )


def _check_history(history: Any, file: object) -> None:
    if not isinstance(history, list) or not all(isinstance(part, dict) for part in history):
        raise CheckpointError(f"`optimizer_history` of {file} must be a list of groups; it is not")
    for entry in history:
        if "num_updates" in entry:
            _check_count("num_updates", entry["num_updates"], 0, file)
        for name in ("criterion_name", "optimizer_name"):
            if not isinstance(entry.get(name, ""), str):
                raise CheckpointError(
                    f"`{name}` of {file} must be text; it is {shown(entry[name])}"
                )
        _check_kind(file, "lr_scheduler_state", entry.get("lr_scheduler_state", {}), (dict,))


def _check_progress(extra: Mapping[Any, Any], file: object) -> None:
    position = extra.get("train_iterator")
    if position is not None:
        _check_kind(file, "train_iterator", position, (dict,))
        for name, least in COUNTS.items():
            if name in position:
                _check_count(name, position[name], least, file)
    meters = extra.get("metrics", {})
    _check_kind(file, "metrics", meters, (dict,))
    for group, listed in meters.items():
        states = _listed(listed)
        keys = [
            state[1] for state in states if isinstance(state, (list, tuple)) and len(state) == 4
        ]
        whole = len(keys) == len(states) and all(isinstance(key, str) for key in keys)
        if not whole or (group == "default" and "wall" not in keys):
            raise CheckpointError(f"`metrics` of {file} must be those of a training; they are not")
    stopping = extra.get("early_stop") or {}
    _check_kind(file, "early_stop", stopping, (dict,))
    _check_count("num_runs", stopping.get("num_runs", 0), 0, file)
    there = {name: extra[name] for name in NUMBERS if name in extra}
    for name, value in (*there.items(), ("best", stopping.get("best", 0))):
        unknown = value is None and name == "val_loss"  # it was not validated
        if not unknown and not _is_number(value):
            raise CheckpointError(f"`{name}` of {file} must be a number; it is {shown(value)}")


def _check_count(name: str, value: Any, least: int, file: object) -> None:
    if not _is_number(value) or not least <= value < MOST or value != int(value):
        raise CheckpointError(
            f"`{name}` of {file} must be a whole number from {least} to {MOST - 1}; it is "
            f"{shown(value)}"
        )


def _is_number(value: Any) -> bool:
    """Whether a value is a number of Python, numpy or torch."""
    if isinstance(value, torch.Tensor):
        return _is_dense(value) and value.numel() == 1
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True
