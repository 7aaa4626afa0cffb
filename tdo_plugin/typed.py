"""JSON files, and their values as typed dataclasses."""

from __future__ import annotations

import json
import math
import types
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from tdo_compat.settings import shown

DEEPEST = 100  # levels of groups
TOO_DEEP = "it is nested too deeply"


def read_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not JSON in UTF-8, is nested too deeply, or has text that is not Unicode.
    """
    return parse_json(path.read_text(encoding="utf-8"))


def parse_json(text: str) -> Any:
    """The value of a JSON text; raises ValueError as `read_json` does."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    _check_values(value)
    return value


def _check_values(value: Any) -> None:
    """Refuse what later functions fail on: many levels, and halves of surrogate pairs."""
    level = [value]
    for _ in range(DEEPEST):
        for text in level:
            if isinstance(text, str) and not text.isascii():
                text.encode()  # its UnicodeEncodeError is a ValueError
        groups = [
            [*group, *group.values()] if isinstance(group, dict) else group for group in level
        ]
        level = [member for group in groups if isinstance(group, list) for member in group]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def typed(value: Any, kind: Any, where: str) -> Any:
    """The value as str, int, float, bool, Any, dict, tuple, a union or a dataclass of these.

    Raises:
        ValueError: it is of another type; the message names its location.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _record(value, kind, where)
    if origin is tuple:
        return tuple(
            typed(item, parts[0], f"{where}[{n}]") for n, item in enumerate(_of(list, value, where))
        )
    if origin is dict:
        items = _of(dict, value, where).items()
        return {key: typed(item, parts[1], f"{where}.{key}") for key, item in items}
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return typed(value, next(part for part in parts if part is not type(None)), where)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not -1e18 < value < 1e18 or math.isnan(value):
            raise ValueError(f"{where} must be a finite number; it is {shown(repr(value))}")
        return value
    return _of(kind, value, where)


def _of(kind: type, value: Any, where: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{where} must be of type {kind.__name__}; it is {shown(repr(value))}")
    return value


def _record(value: Any, kind: Any, where: str) -> Any:
    hints = get_type_hints(kind)
    values = _of(dict, value, where)
    optional = {
        field.name
        for field in fields(kind)
        if field.default is not MISSING or field.default_factory is not MISSING
    }
    if mismatched := sorted((set(values) ^ set(hints)) - (optional - set(values))):
        raise ValueError(
            f"{where} must have {', '.join(sorted(hints))}; {shown(mismatched[0])} does not match"
        )
    return kind(**{name: typed(values[name], hints[name], f"{where}.{name}") for name in values})
