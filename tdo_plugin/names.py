"""Rules for names that users provide: languages, systems, groups, experiments.

A language's name becomes part of file names, pairs (`en-de`) and tags; the name of an experiment's
part becomes a folder. Names of systems and groups are titles in tables and figures. Text that is
written to a script may be anything on one line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError

LANGUAGE = r"[A-Za-z][A-Za-z0-9_]*"
LANGUAGE_IS = "letters, digits and _, a letter first, such as de or pt_BR"
PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
DIRECTION = re.compile(rf"({LANGUAGE})-({LANGUAGE})", re.ASCII)

LONGEST = 200  # maximum characters of a title
_CODE = re.compile(LANGUAGE, re.ASCII)
_CONTROL = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators


def is_language(name: object) -> bool:
    """Whether the name is valid for a language."""
    return isinstance(name, str) and _CODE.fullmatch(name) is not None


def is_direction(name: object) -> bool:
    """Whether the name consists of two language names separated by a hyphen."""
    return isinstance(name, str) and DIRECTION.fullmatch(name) is not None


def check_languages(names: Iterable[object], place: str) -> None:
    """Raise UserError if a name is not valid for a language.

    Args:
        names: to check.
        place: where they come from, in backquotes if it is an option or a file.
    """
    for name in names:
        if not is_language(name):
            raise UserError(
                f"{place} must name languages by {LANGUAGE_IS}; it has "
                f"{shown(str(name)) or 'an empty one'}"
            )


def check_directions(names: Iterable[object], place: str) -> None:
    """Raise UserError if a name is not a direction; see `check_languages`."""
    for name in names:
        if not is_direction(name):
            raise UserError(
                f"{place} must have directions such as de-fr or en-pt_BR, their languages "
                f"{LANGUAGE_IS.partition(', such')[0]}; it has {shown(str(name))}"
            )


def on_one_line(text: str) -> bool:
    """Whether text has no control characters and no line or paragraph separators."""
    if text.isprintable():  # most are, and it is quick
        return True
    return not any(unicodedata.category(character) in _CONTROL for character in text)


def check_line(option: str, *texts: object) -> None:
    """Raise UserError if a value for a script or a file of lines contains a line break."""
    for text in map(str, texts):
        if not on_one_line(text):
            raise UserError(
                f"`{option}` must be without control characters and line breaks; it is "
                f"{shown(text)}"
            )


def check_titles(names: Iterable[object], place: str) -> None:
    """Raise UserError if a name is not valid for a system or group; see `check_languages`."""
    for name in names:
        if not isinstance(name, str) or not name.strip() or not on_one_line(name):
            what = "names without control characters and line breaks"
        elif len(name) > LONGEST:
            what = f"names of at most {LONGEST} characters"
        else:
            continue
        raise UserError(f"{place} must have {what}; it has {shown(str(name)) or 'an empty one'}")
