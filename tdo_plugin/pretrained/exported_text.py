"""The part of `config.json` about text and languages, in every folder that `tdo export` wrote."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import form_of
from tdo_plugin.names import check_directions, check_languages
from tdo_plugin.text_settings import SIDES, Settings, settings_of
from tdo_plugin.typed import typed

TAGS = ("src", "tgt", None)  # whose tag a side begins with


@dataclass(frozen=True)
class ExportedText:
    """What the text of a model must look like.

    Attributes:
        languages: codes, in the order of language ids.
        directions: of the checkpoint's training, or of its options if it was converted.
        text_settings: options of the task that a checkpoint records.
        text_form: casing and tokenization, as a checkpoint records them.
    """

    languages: tuple[str, ...]
    directions: tuple[str, ...]
    text_settings: dict[str, Any]
    text_form: dict[str, Any]

    def stored(self) -> dict[str, Any]:
        """The entries of `config.json`."""
        return asdict(self)

    @property
    def settings(self) -> Settings:
        """The options of the task."""
        # `--decoder-langtok` alone can only mean the target's tag
        sides = {"main": [self.text_settings.get(side) or None for side in SIDES]}
        return settings_of(Namespace(**{**self.text_settings, "langtoks": sides}))


def read_text(config: Mapping[str, Any], path: Path) -> ExportedText:
    """The entries in a configuration.

    Args:
        config: the content of `config.json`.
        path: of the file, for messages.

    Raises:
        UserError: entries are missing, of another type, or contradict each other.
    """
    text: ExportedText = entries(config, ExportedText, path)
    check_languages(text.languages, str(path))
    if not 2 <= len({*text.languages}) == len(text.languages):
        raise UserError(
            f"`languages` in {path} must be at least two, each once; they are "
            f"{shown(', '.join(text.languages)) or 'none'}"
        )
    check_pairs(text.directions, text.languages, "directions", path)
    if not text.directions:
        raise UserError(f"`directions` in {path} must name one or more; it is empty")
    if text.text_form:
        form_of(text.text_form, str(path))
    for name in (*SIDES, "source_noise", "back_translated_tag"):
        value = text.text_settings.get(name)
        if not isinstance(value, str | None) or (name in SIDES and value not in TAGS):
            expected = "src, tgt or null" if name in SIDES else "text or null"
            raise UserError(f"`{name}` in {path} must be {expected}; it is {shown(str(value))}")
    return text


def entries(config: Mapping[str, Any], kind: type, path: Path) -> Any:
    """The entries of a configuration that are fields of a dataclass, as such.

    Raises:
        UserError: an entry is missing or of another type.
    """
    names = [field.name for field in fields(kind)]
    try:
        return typed({name: config[name] for name in names if name in config}, kind, path.name)
    except ValueError as error:
        raise UserError(f"{path} must be as `tdo export` wrote it; {error}") from None


def check_pairs(pairs: Sequence[str], languages: Sequence[str], name: str, path: Path) -> None:
    """Raise UserError unless each of these is a direction of two of the languages, once."""
    check_directions(pairs, f"`{name}` in {path}")
    for pair in pairs:
        if pairs.count(pair) > 1 or not {*pair.split("-")} <= {*languages}:
            raise UserError(
                f"`{name}` in {path} must have directions between {', '.join(languages)}, each "
                f"once; it has {shown(pair)}"
            )
