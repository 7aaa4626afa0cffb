"""Shapes of JSON values: each kind yields all problems of a value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from string import Formatter
from typing import Any

Kind = Callable[[Any, str], Iterator[str]]  # (value, its location) -> problems


def leaf(what: str, holds: Callable[[Any], bool]) -> Kind:
    """A value for which `holds` is true; `what` describes it."""

    def check(value: Any, where: str) -> Iterator[str]:
        if not holds(value):
            yield f"{where} must be {what}; it is {json.dumps(value, ensure_ascii=False)[:80]}"

    return check


TEXT = leaf("text", lambda value: isinstance(value, str) and bool(value.strip()))
FLAG = leaf("true or false", lambda value: isinstance(value, bool))


def whole(least: int) -> Kind:
    """A whole number of at least `least`."""
    return leaf(f"a whole number from {least}", lambda value: _whole(value) and value >= least)


def above(least: float, most: float) -> Kind:
    """A number above `least`, up to `most`."""
    return leaf(
        f"a number above {least} and up to {most}",
        lambda value: (_whole(value) or isinstance(value, float)) and least < value <= most,
    )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def one_of(*values: str) -> Kind:
    """One of some words."""
    return leaf(f"one of {', '.join(values)}", lambda value: value in values)


def matching(what: str, pattern: str) -> Kind:
    """Text that a regular expression matches as a whole."""
    whole_text = re.compile(pattern)
    return leaf(what, lambda value: isinstance(value, str) and bool(whole_text.fullmatch(value)))


def template(*names: str) -> Kind:
    """Text with {name} placeholders only for some names."""
    allowed = ", ".join(f"{{{name}}}" for name in names)
    return leaf(
        f"text with no other placeholders than {allowed}",
        lambda value: isinstance(value, str) and placeholders(value) <= set(names),
    )


def all_of(*kinds: Kind) -> Kind:
    """A value of all kinds; yields the problems of the first kind that does not match."""

    def check(value: Any, where: str) -> Iterator[str]:
        mistakes = (list(kind(value, where)) for kind in kinds)
        yield from next(filter(None, mistakes), [])

    return check


def placeholders(text: str) -> set[str]:
    """The names of a template's placeholders; an invalid brace or a format counts as ""."""
    try:
        return {
            "" if form or conversion else name
            for _, name, form, conversion in Formatter().parse(text)
            if name is not None
        }
    except ValueError:
        return {""}


def nothing_or(kind: Kind) -> Kind:
    """null, or a value of the kind."""
    return lambda value, where: iter(()) if value is None else kind(value, where)


def list_of(kind: Kind, least: int = 0) -> Kind:
    """A list of values of one kind, at least `least` of them."""

    def check(value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, list) or len(value) < least:
            yield f"{where} must be a list" + (f" of at least {least}" if least else "")
            return
        for number, item in enumerate(value):
            yield from kind(item, f"{where}[{number}]")

    return check


def list_or(items: Kind, single: Kind, least: int = 1) -> Kind:
    """A list of at least `least` values of one kind, or a single value of another."""
    several = list_of(items, least)
    return lambda value, where: (several if isinstance(value, list) else single)(value, where)


def map_of(kind: Kind, keys: Kind = TEXT) -> Kind:
    """An object with keys of one kind and values of another."""

    def check(value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where} must be an object"
            return
        for key, item in value.items():
            yield from keys(key, f"the key {key} of {where}")
            yield from kind(item, f"{where}.{key}")

    return check


def record(needed: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None) -> Kind:
    """An object with these keys and no others."""
    kinds = {**needed, **(optional or {})}

    def check(value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where or 'it'} must be an object"
            return
        dot = f"{where}." if where else ""
        yield from (f"{dot}{key} is not a known key" for key in _without(value, kinds))
        yield from (f"{dot}{key} must be set" for key in _without(needed, value))
        for key, item in value.items():
            if key in kinds:
                yield from kinds[key](item, f"{dot}{key}")

    return check


def _without(keys: Collection[str], excluded: Collection[str]) -> list[str]:
    return [key for key in keys if key not in excluded]


def chosen_by(key: str, kinds: Mapping[str, Kind]) -> Kind:
    """An object whose value of `key` determines its kind."""
    choice = one_of(*kinds)

    def check(value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where} must be an object"
        elif isinstance(value.get(key), str) and value[key] in kinds:
            yield from kinds[value[key]](value, where)
        else:
            yield from choice(value.get(key), f"{where}.{key}")

    return check
