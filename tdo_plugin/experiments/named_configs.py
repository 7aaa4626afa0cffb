"""Configs on the command line: a file of flags, or FILE/SYSTEM of an experiment file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.experiments import library
from tdo_plugin.experiments.expressions import Scope
from tdo_plugin.experiments.references import referred
from tdo_plugin.experiments.systems import ResolvedSystem, Setting
from tdo_plugin.launch.training_config import Config, read_config

TOML = ".toml/"
FULL = "full"  # the scale with a paper's sizes


@dataclass(frozen=True)
class NamedConfig:
    """A config and its origin.

    Attributes:
        config: the flags.
        name: FOLDER/CONFIG for a file, or FILE/SYSTEM.
        place: CONFIG in a form that is valid in any folder.
        setting: the setting, for a system of an experiment file.
        system: the resolved system, for a system of an experiment file.
        needed: flags that the user must give, and why: they name files that only a run makes.
    """

    config: Config
    name: str
    place: str
    setting: Setting | None = None
    system: ResolvedSystem | None = None
    needed: Mapping[str, str] = field(default_factory=dict)


def named_config(text: str, scale: str | None = None) -> NamedConfig:
    """The config that CONFIG on a command line names.

    Args:
        text: a config file, or FILE/SYSTEM: an experiment file, by path or name, and one of its
            systems, such as quickstart/tdo-instrucl.
        scale: the scale of the system (default: full if the file has it, else its first).

    Raises:
        UserError: `text` is neither, or cannot be read; or the scale does not have the system.
    """
    path = Path(text)
    if path.is_file():
        if scale is not None:
            raise UserError(f"`--scale` must be left out with a file of flags; it is {scale}")
        place = path.resolve()
        name = f"{place.parent.name}/{place.name.removesuffix('.conf')}"
        return NamedConfig(read_config(path), name, str(place))
    file, separator, system = text.partition(TOML if TOML in text else "/")
    file = f"{file}.toml" if separator == TOML else file
    if not system or not (Path(file).is_file() if separator == TOML else file in library.names()):
        raise UserError(
            "`CONFIG` must be an existing file, or FILE/SYSTEM of an experiment file "
            f"({', '.join(library.names())}, or a path); {text} is neither"
        )
    return _of_system(file, system, scale)


def _of_system(file: str, system: str, scale: str | None) -> NamedConfig:
    document = library.find(file)
    setting = library.setting_of(document, scale or (FULL if FULL in document.scales else None), {})
    resolved = setting.resolve(system)
    name = f"{document.name}/{system}"
    if not resolved.here:
        raise UserError(f"`--scale` must be a scale of {name}; it is {setting.scale}")

    place = f"{Path(file).resolve() if file.endswith('.toml') else file}/{system}"
    config, needed = _without_files_of_a_run(resolved, file)
    return NamedConfig(config, name, place, setting, resolved, needed)


STARTS = {"restore": "--restore-file", "finetune": "--finetune-from-model"}


def _without_files_of_a_run(system: ResolvedSystem, file: str) -> tuple[Config, dict[str, str]]:
    """The flags except those that name files of a run, and why each of those is needed."""
    references: list[str] = []

    def stands_for_itself(expression: str, scope: Scope) -> Any:
        if referred(expression, scope) is None:
            return None
        references.append(f"{{{expression}}}")
        return references[-1]

    config = system.config(stands_for_itself)
    needed = {}
    for flag, values in list(config.flags.items()):
        if any(reference in value for reference in references for value in values):
            needed[flag] = (
                f"has {' '.join(config.flags.pop(flag))}, which tdo reproduce {file} makes"
            )
    if system.continues is not None:
        needed[STARTS[system.continues]] = f"starts from a checkpoint of {system.before}"
    return config, needed
