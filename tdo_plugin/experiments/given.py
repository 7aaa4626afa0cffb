"""Checks before a run that the options and inputs on the command line have an effect."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.systems import Setting

Command = Sequence[str]


def check_options_used(
    given: Iterable[str],
    setting: Setting,
    made: Hashable,
    come_to: Callable[[Setting], Hashable],
) -> None:
    """Check that the given options of the file have an effect.

    Args:
        given: the options' names.
        setting: the setting with their values.
        made: a key of the setting's steps.
        come_to: returns the key of another setting's steps; equal keys mean equal steps.

    Raises:
        UserError: an option has no effect with any of its values.
    """
    for name in given:
        option, value = setting.document.options[name], setting.options[name]
        others = [other for other in option.choices if other != value]
        if not option.choices and (usual := setting.of_scale(option.default)) != value:
            others = [usual]
        if others and all(come_to(_with(setting, name, other)) == made for other in others):
            raise UserError(f"`--{name}` must come with rows that it affects; it affects none")


def _with(setting: Setting, name: str, value: str) -> Setting:
    several = {name: [value]} if name in setting.several else {}
    return replace(
        setting,
        options={**setting.options, name: value},
        several={**setting.several, **several},
    )


def check_inputs_used(given: Mapping[str, Path], commands: Iterable[Command], run: Path) -> None:
    """Raise UserError if a given file or folder is used by no command of a run."""
    every = {word for command in commands for word in command}
    words = [word for word in every if not word.startswith(f"{run}/")]
    for name, path in given.items():
        if not any(word == str(path) or word.startswith(f"{path}/") for word in words):
            raise UserError(f"`--{name}` must come with rows that use it; none does")
