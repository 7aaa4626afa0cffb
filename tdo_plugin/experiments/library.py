"""Experiment files by name or path, and their settings from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.document import Document
from tdo_plugin.experiments.document_reader import read_document
from tdo_plugin.experiments.systems import Setting
from tdo_plugin.installation import FILES

PAPERS = ("tdo", "opus100", "tpdm", "tlm", "neurons")  # experiment files of papers
FOLDER = FILES / "configs" / "experiments"


def names() -> list[str]:
    """The names of the experiment files that come with this package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find(name: str) -> Document:
    """The experiment file at a path, or with this name in this package.

    Raises:
        UserError: the file does not exist or is invalid.
    """
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return read_document(path, _packaged)
    return read_document(_packaged(name), _packaged)


def _packaged(name: str) -> Path:
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise UserError(
            f"`EXPERIMENTS` must be a file, or one of {', '.join(names())}; it is {name}"
        )
    return path


def setting_of(document: Document, scale: str | None, given: Mapping[str, str]) -> Setting:
    """The setting of a file: a scale and the values of options.

    Args:
        document: the experiment file.
        scale: the scale's name (default: the file's first).
        given: values of the file's options on the command line.

    Raises:
        UserError: an unknown scale, an invalid value, or an option not available at the scale.
    """
    scales = list(document.scales)
    scale = scale or scales[0]
    if scale not in document.scales:
        raise UserError(f"`--scale` must be one of {', '.join(scales)}; it is {scale}")
    plain = Setting(document, scale, {})
    options: dict[str, Any] = {}
    several: dict[str, Sequence[Any]] = {}
    for name, option in document.options.items():
        if name in given:
            if not plain.has(option.scales):
                where = " or ".join(option.scales)
                raise UserError(f"`--{name}` must be used at scale {where}; the scale is {scale}")
            if option.choices and given[name] not in option.choices:
                raise UserError(
                    f"`--{name}` must be one of {', '.join(option.choices)}; it is {given[name]}"
                )
        value = given.get(name, plain.of_scale(option.default, ""))
        values = [given[name]] if name in given else value if isinstance(value, list) else [value]
        options[name] = values[0]
        if isinstance(value, list) or isinstance(plain.of_scale(option.default, ""), list):
            several[name] = values
    return Setting(document, scale, options, several)
