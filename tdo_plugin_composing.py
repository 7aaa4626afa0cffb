"""fairseq's settings from a command line, without hydra's general machinery.

fairseq turns the arguments of a command into some 230 overrides in hydra's language, ``KEY=VALUE``
each, and has hydra compose them into its settings, 0.4 seconds of every start. :func:`composed`
does the same for the few forms of values that fairseq writes, in a tenth of that. Whatever is not
one of them is left to hydra, and so is everything that is refused, with hydra's own message.

It stands beside ``tdo_plugin_boot`` for the same reason as ``tdo_plugin_messages``.
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
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?")
NAME = re.compile(r"(?!(?:true|false|null|inf|nan)$)[a-z_]\w*", re.IGNORECASE | re.ASCII)
QUOTED = re.compile(r"'[^'\\]*'")
ITEM = rf"({NUMBER.pattern}|{QUOTED.pattern})"
LIST = re.compile(rf"\[({ITEM}(, {ITEM})*)?\]")
WORDS = {"null": None, "True": True, "False": False}


class UnknownFormError(ValueError):
    """A value that fairseq has not been seen to write."""


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
    """What ``hydra.compose`` makes of these overrides, but for its own node.

    Args:
        name: of fairseq's root settings in hydra's store.
        overrides: ``GROUP=CHOICE`` and ``PATH.TO.KEY=VALUE``.

    Raises:
        UnknownFormError: for a value of another form.
    """
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf, open_dict

    store = ConfigStore.instance()
    pairs = [(key, text) for key, _, text in (line.partition("=") for line in overrides)]
    values = [(key, value_of(text)) for key, text in pairs if "." in key]
    choices = DEFAULTS | {key: text for key, text in pairs if "." not in key}
    settings = store.load(f"{name}.yaml").node
    with open_dict(settings):
        for group, choice in choices.items():
            settings[group] = store.load(f"{group}/{choice}.yaml").node
    OmegaConf.set_struct(settings, True)
    for key, value in values:
        OmegaConf.update(settings, key, value, merge=True)
    OmegaConf.set_struct(settings, False)
    return settings


def without_hydra(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``convert_namespace_to_omegaconf`` with :func:`composed` in the place of hydra.

    What is returned raises whatever it cannot do.
    """
    quiet = logging.Logger("quiet")
    quiet.disabled = True  # what is refused here is said by hydra
    own = {
        "compose": composed,
        "initialize": lambda **_: contextlib.nullcontext(),
        "logger": quiet,
    }
    return types.FunctionType(convert.__code__, {**convert.__globals__, **own})


def with_less_hydra(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``convert_namespace_to_omegaconf``, which asks hydra for what :func:`composed` cannot do."""
    quick = without_hydra(convert)

    def convert_namespace_to_omegaconf(args: Any) -> Any:
        try:
            return quick(args)
        except Exception:
            return convert(args)

    return convert_namespace_to_omegaconf
