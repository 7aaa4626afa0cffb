"""JSON files, and their values as the types that dataclasses declare."""

from __future__ import annotations

import json
import math
import types
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from tdo_compat.settings import shown


def read_json(path: Path) -> Any:
    """The value that a JSON file has.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON in UTF-8, or is nested too deep.
    """
    return parse_json(path.read_text(encoding="utf-8"))


def parse_json(text: str) -> Any:
    """The value of a JSON text; raises ValueError, see `read_json`."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def typed(value: Any, kind: Any, where: str) -> Any:
    """The value as a type: str, int, float, bool, Any, dict, tuple, a union or a dataclass of such.

    Raises:
        ValueError: it is another; the message names the place.
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
            f"{where} must have {', '.join(sorted(hints))}; {shown(mismatched[0])} is not so"
        )
    return kind(**{name: typed(values[name], hints[name], f"{where}.{name}") for name in values})
