"""Reads settings from files without running code in them or writing to paths in them.

fairseq calls ``eval`` on some settings that are text, such as ``--left-pad-source`` or
``--adam-betas``, and a checkpoint contains its settings. :func:`literal` parses the same text
without running code; :func:`harmless` removes settings that name code, or paths to write to, from a
checkpoint. ``file_patches`` installs both in fairseq.
"""

import argparse
import ast
import functools
import operator
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

SHOWN = 60  # maximum characters of a value in a message
LONGEST = 100_000  # maximum characters of a value, and elements of its result
REPEATED = (list, tuple)

# Settings of a checkpoint that fairseq or a task would import, or write to.
IMPORTED = ("user_dir",)
WRITTEN = ("log_file", "results_path", "save_predictions", "tensorboard_logdir")
# The same, but as text in every form of fairseq's settings, where None is invalid.
WRITTEN_TEXT = ("plasma_path", "save_dir")

# omegaconf's function calls, such as ${oc.env:HOME}; references to other settings have no colon.
FUNCTION = re.compile(r"\$\{\s*[\w.${}]+\s*:")
REFERENCES = 10  # in a text; with thousands it takes minutes


# the kinds of fairseq's meters, by their names; all others are means or sums
METERS = {
    **dict.fromkeys(("wall", "train_wall"), ("StopwatchMeter",)),
    **dict.fromkeys(("wps", "ups"), ("TimeMeter",)),
}
USUAL = ("AverageMeter", "SumMeter")

_names: dict[str, str] = {}  # names of text settings in the latest checkpoint, for messages


class SettingError(ValueError):
    """A setting is not a plain value. Shown as one line, without a traceback."""

    one_line = True


def shown(value: object) -> str:
    """A value for a message: on one line, without control characters, of limited length."""
    text = ascii(value) if not isinstance(value, str) or not value.isprintable() else value
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


# --- text that represents a value ----------------------------------------------------------------


def literal(text: str) -> Any:
    """The result of fairseq's ``eval`` of a setting, for text that is a plain value.

    Accepts everything that :func:`ast.literal_eval` does, and lists that are added or repeated, as
    in fairseq's own ``[(512, 3)] * 20``.

    Raises:
        SettingError: the text is anything else.
        TypeError: the argument is not text, as with ``eval``.
    """
    if not isinstance(text, str):
        raise TypeError(f"a setting must be text here; it is {type(text).__name__}")
    try:
        if len(text) > LONGEST:
            raise ValueError
        return _value(ast.parse(text.lstrip(" \t"), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        name = f"`{_names[text]}` of a checkpoint" if text in _names else "a setting"
        raise SettingError(
            f"{name} must be a plain value, such as True, 0.9 or [1, 2]; it is {shown(text)}"
        ) from None


def _value(node: ast.expr) -> Any:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Mult)):
        if isinstance(node, (ast.List, ast.Tuple)):
            kind = list if isinstance(node, ast.List) else tuple
            return kind(map(_value, node.elts))
        return ast.literal_eval(node)
    left: Any = _value(node.left)
    right: Any = _value(node.right)
    if isinstance(node.op, ast.Add):
        if isinstance(left, REPEATED) and type(left) is type(right):
            joined: Any = operator.add(left, right)  # of the same type, which mypy cannot infer
            return joined
        return ast.literal_eval(node)  # handles complex numbers
    if isinstance(right, REPEATED):
        left, right = right, left
    if not isinstance(left, REPEATED) or type(right) is not int:
        raise ValueError
    if len(left) * right > LONGEST:
        raise ValueError
    return left * right


# --- a checkpoint's settings ---------------------------------------------------------------------


def harmless(state: Any) -> Any:
    """A checkpoint whose settings name no code and no path to write to.

    Settings in omegaconf's form are returned as plain ones, which fairseq converts itself.

    Args:
        state: as read; anything other than a checkpoint is returned unchanged.

    Raises:
        SettingError: a setting calls a function of omegaconf, such as ``${oc.env:HOME}``, or has
            many references to others.
    """
    if not isinstance(state, dict):
        return state
    parts = {key: _plain(state[key]) for key in ("args", "cfg") if state.get(key) is not None}
    _names.clear()
    for settings in map(mapping, parts.values()):
        for place in _places(settings):
            _forget(place)
    return {**state, **parts}


def _plain(settings: Any) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(settings) if OmegaConf.is_config(settings) else settings


def mapping(value: Any) -> Any:
    """A group of settings as a dict; any other value as it is."""
    return vars(value) if isinstance(value, argparse.Namespace) else value


def _places(value: Any) -> Iterator[dict[str, Any]]:
    """All groups of settings at any depth, each once."""
    waiting, seen = [value], set()
    while waiting:
        place = mapping(waiting.pop())
        if id(place) in seen:
            continue
        seen.add(id(place))
        if isinstance(place, dict):
            yield place
        if isinstance(place, (dict, list, tuple)):
            waiting += place.values() if isinstance(place, dict) else place


def _forget(place: dict[str, Any]) -> None:
    for name in (*IMPORTED, *WRITTEN):
        if name in place:
            place[name] = None
    for name in WRITTEN_TEXT:
        place.pop(name, None)
    for name, value in place.items():
        for text in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(text, str):
                continue
            called = _names[text] = shown(str(name))
            if FUNCTION.search(text) or text.count("${") > REFERENCES:
                raise SettingError(
                    f"`{called}` of a checkpoint must be a plain value; it is {shown(text)}"
                )


# --- names that fairseq looks up -----------------------------------------------------------------


def only_meters(module: Any) -> Callable[[Any, Any], None]:
    """fairseq's ``MetersDict.load_state_dict``, restricted to meters instead of any callable.

    Args:
        module: fairseq.logging.meters.
    """
    original = module.MetersDict.load_state_dict

    def load_state_dict(self: Any, state_dict: Any) -> None:
        for _, key, name, values in state_dict:
            kind = getattr(module, name, None) if isinstance(name, str) else None
            if not isinstance(kind, type) or not issubclass(kind, module.Meter):
                raise SettingError(
                    f"a checkpoint's meters must be of fairseq's types; it has {shown(name)}"
                )
            if name not in METERS.get(key, USUAL) or not _are_numbers(values):
                raise SettingError(
                    f"a checkpoint's meter {shown(key)} must be that of a training; it is a "
                    f"{name} of {shown(values)}"
                )
        original(self, state_dict)

    return load_state_dict


def _are_numbers(values: Any) -> bool:
    """Whether a meter's values are numbers, but for those that need not be set."""
    try:
        for name, value in values.items():
            if value is not None or name not in ("val", "round"):
                float(value)
    except (AttributeError, TypeError, ValueError, OverflowError, RuntimeError):
        return False
    return True


def know_names(module: Any) -> None:
    """Make fairseq's functions that build a part by name refuse unknown names.

    Args:
        module: fairseq.tasks, fairseq.models or fairseq.registry (all other parts).
    """
    if module.__name__ == "fairseq.tasks":
        names = (module.TASK_REGISTRY, module.TASK_DATACLASS_REGISTRY)
        module.setup_task = _known("task", module.setup_task, names, "task", "_name")
    elif module.__name__ == "fairseq.models":
        names = (module.ARCH_MODEL_REGISTRY, module.MODEL_DATACLASS_REGISTRY)
        module.build_model = _known("arch", module.build_model, names, "_name", "arch")
    else:
        module.setup_registry = _knowing(module.setup_registry)


def _knowing(setup_registry: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap fairseq's function that creates the registry of a kind of parts, as `--criterion`."""

    @functools.wraps(setup_registry)
    def setup(option: str, *args: Any, **options: Any) -> Any:
        registry = setup_registry(option, *args, **options)
        if registry is None:  # it already exists
            return None
        build, register, names, settings = registry
        kind = option.removeprefix("--").replace("-", "_")
        return _known(kind, build, (names,), kind, "_name"), register, names, settings

    return setup


def _known(
    kind: str, build: Callable[..., Any], names: Sequence[Collection[str]], *setting_names: str
) -> Callable[..., Any]:
    """Wrap a function of fairseq that builds a part by name, to refuse unknown names.

    Args:
        kind: of the part, for messages, such as `task`.
        build: its first argument is the settings, or the name itself.
        names: registries with all known names.
        setting_names: settings that may hold the name, the first that is text counts; in
            omegaconf's form of the settings it is `_name`.
    """

    @functools.wraps(build)
    def checked(cfg: Any, *args: Any, **options: Any) -> Any:
        candidates = [cfg, *(getattr(cfg, setting, None) for setting in setting_names)]
        name = next((value for value in candidates if isinstance(value, str)), None)
        if name is not None and not any(name in registry for registry in names):
            raise SettingError(
                f"`{kind}` must be one of fairseq's or of `--user-dir`; {shown(name)} is not"
            )
        from omegaconf.errors import OmegaConfBaseException

        try:
            return build(cfg, *args, **options)
        except OmegaConfBaseException as error:
            reason = str(error).partition("\n")[0]
            raise SettingError(
                f"`{kind}` must have only settings that it supports: {reason}"
            ) from error

    return checked


def no_hub(*_: Any, **__: Any) -> None:
    """Replaces ``torch.hub.load`` where a data folder's settings name what to download and run.

    Raises:
        SettingError: always.
    """
    raise SettingError(
        "a data folder's `tts_model_id` must not be loaded, since it names foreign code; load that "
        "model with torch.hub yourself"
    )
