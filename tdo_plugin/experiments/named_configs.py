"""Configs on the command line: a file, or FILE/SYSTEM of a file of experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.experiments import library
from tdo_plugin.experiments.expressions import Scope
from tdo_plugin.experiments.references import referred
from tdo_plugin.experiments.systems import ResolvedSystem, Setting
from tdo_plugin.launch.training_config import Config, read_config

TOML = ".toml/"
FULL = "full"  # the scale of a paper's own sizes


@dataclass(frozen=True)
class NamedConfig:
    """A config with where it is from.

    Attributes:
        config: its flags.
        name: FOLDER/CONFIG of a file, or FILE/SYSTEM.
        place: CONFIG from wherever a command is given.
        setting: of a system of experiments.
        system: the same, as it is there.
    """

    config: Config
    name: str
    place: str
    setting: Setting | None = None
    system: ResolvedSystem | None = None


def named_config(text: str, scale: str | None = None) -> NamedConfig:
    """What CONFIG on a command line names.

    Args:
        text: a config file, or FILE/SYSTEM: a file of experiments, by its path or its name, and a
            system of it, such as quickstart/tdo-instrucl.
        scale: at which the system is (default: full where the file has it, else its first).

    Raises:
        UserError: it is neither, or cannot be read; a system that this scale is without, or with
            flags that name what only a run makes.
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
            "`CONFIG` must be an existing file, or FILE/SYSTEM of a file of experiments "
            f"({', '.join(library.names())}, or a path); {text} is not one"
        )
    return _of_system(file, system, scale)


def _of_system(file: str, system: str, scale: str | None) -> NamedConfig:
    document = library.find(file)
    setting = library.setting_of(document, scale or (FULL if FULL in document.scales else None), {})
    resolved = setting.resolve(system)
    name = f"{document.name}/{system}"
    if not resolved.here:
        raise UserError(f"`--scale` must be one that {name} is there at; it is {setting.scale}")

    def refuse(expression: str, scope: Scope) -> Any:
        if referred(expression, scope) is None:
            return None
        raise UserError(
            f"`CONFIG` must be a system whose flags name no file of a run; {name} has "
            f"{{{expression}}}, which tdo reproduce {file} makes"
        )

    place = f"{Path(file).resolve() if file.endswith('.toml') else file}/{system}"
    return NamedConfig(resolved.config(refuse), name, place, setting, resolved)
