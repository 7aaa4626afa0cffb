"""fairseq's settings from a command line, without hydra's general machinery.

fairseq turns the arguments of a command into some 230 overrides in hydra's language, ``KEY=VALUE``
each, and has hydra compose them into its settings, 0.3 to 0.4 seconds of every start.
:func:`composed` does the same in 0.04, for the few forms of values that fairseq writes. Any other
value is left to hydra, and so is everything that is refused, with hydra's own message.
"""

import ast
import contextlib
import logging
import re
import types
from collections.abc import Callable
from typing import Any

# fairseq/config/config.yaml, for groups that the arguments do not choose
DEFAULTS = {"criterion": "cross_entropy", "lr_scheduler": "fixed"}
NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]*)?(e[+-]?[0-9]+)?")
NAME = re.compile(r"(?!(?:true|false|null|inf|nan)$)[a-z_]\w*", re.IGNORECASE | re.ASCII)
QUOTED = re.compile(r"'[^'\\]*'")
ITEM = rf"({NUMBER.pattern}|{QUOTED.pattern})"
LIST = re.compile(rf"\[({ITEM}(, {ITEM})*)?\]")
WORDS = {"null": None, "True": True, "False": False}


class UnknownFormError(ValueError):
    """Something whose reading is left to hydra."""


def value_of(text: str) -> Any:
    """What hydra takes an override's value for."""
    if text in WORDS:
        return WORDS[text]
    if any(form.fullmatch(text) for form in (NUMBER, QUOTED, LIST)):
        return ast.literal_eval(text)
    if NAME.fullmatch(text):
        return text
    raise UnknownFormError(text)


def composed(name: str, overrides: list[str], **_: object) -> Any:
    """What ``hydra.compose`` makes of these overrides, without the node ``hydra``.

    Args:
        name: of fairseq's root settings in hydra's store.
        overrides: ``GROUP=CHOICE`` and ``PATH.TO.KEY=VALUE``.

    Raises:
        UnknownFormError: for values or groups of another form. What is refused raises errors of
            omegaconf or of hydra's store, which are not those of ``hydra.compose``.
    """
    from hydra.core.config_store import ConfigStore
    from hydra.core.utils import setup_globals
    from omegaconf import OmegaConf, open_dict

    setup_globals()  # references to `now:` and others, which work from then on
    store = ConfigStore.instance()
    pairs = [(key, text) for key, _, text in (line.partition("=") for line in overrides)]
    values = [(key, value_of(text)) for key, text in pairs if "." in key]
    choices = DEFAULTS | {key: text for key, text in pairs if "." not in key}
    settings = store.load(f"{name}.yaml").node
    groups = set(settings.keys())  # with the model, which omegaconf calls missing
    with open_dict(settings):
        for group, choice in choices.items():
            node = store.load(f"{group}/{choice}.yaml").node
            if group not in groups or not NAME.fullmatch(choice) or "defaults" in node:
                raise UnknownFormError(f"{group}={choice}")
            settings[group] = node
    OmegaConf.set_struct(settings, True)
    for key, value in values:
        OmegaConf.update(settings, key, value, merge=True)
    OmegaConf.set_struct(settings, False)
    return settings


def without_hydra(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``convert_namespace_to_omegaconf`` with :func:`composed` in the place of hydra.

    It is fairseq's own code with two other names in it, so that what fairseq does before and after
    composing stays fairseq's. The function raises for anything that it cannot compose.
    """
    quiet = logging.Logger("quiet")
    quiet.disabled = True  # what is refused here is said by hydra
    replacements = {
        "compose": composed,
        "initialize": lambda **_: contextlib.nullcontext(),
        "logger": quiet,
    }
    return types.FunctionType(convert.__code__, {**convert.__globals__, **replacements})


def with_less_hydra(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``convert_namespace_to_omegaconf``, which asks hydra for what :func:`composed` cannot do."""

    def convert_namespace_to_omegaconf(args: Any) -> Any:
        with contextlib.suppress(Exception):
            return without_hydra(convert)(args)
        return convert(args)

    return convert_namespace_to_omegaconf
