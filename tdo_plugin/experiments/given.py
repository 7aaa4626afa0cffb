"""What the command line gives is for something that is made, and can be read, before all begins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.systems import Setting

Command = Sequence[str]


def check_options_used(
    given: Iterable[str], setting: Setting, come_to: Callable[[Setting], Hashable]
) -> None:
    """Check options of the file.

    Args:
        given: their names.
        setting: with their values.
        come_to: what a setting comes to, equal where the same is made.

    Raises:
        UserError: one of them makes no difference, whatever its value is.
    """
    made = come_to(setting)
    for name in given:
        option, value = setting.document.options[name], setting.options[name]
        others = [other for other in option.choices if other != value]
        if not option.choices and (usual := setting.of_scale(option.default)) != value:
            others = [usual]
        if others and all(come_to(_with(setting, name, other)) == made for other in others):
            raise UserError(f"`--{name}` must come with rows that it changes; there are none")


def _with(setting: Setting, name: str, value: str) -> Setting:
    several = {name: [value]} if name in setting.several else {}
    return replace(
        setting,
        options={**setting.options, name: value},
        several={**setting.several, **several},
    )


def check_inputs_used(given: Mapping[str, Path], commands: Iterable[Command], run: Path) -> None:
    """Raise UserError where a file or folder that is given is for no command of a run."""
    every = {word for command in commands for word in command}
    words = [word for word in every if not word.startswith(f"{run}/")]
    for name, path in given.items():
        if not any(word == str(path) or word.startswith(f"{path}/") for word in words):
            raise UserError(f"`--{name}` must come with rows that it is for; there are none")
