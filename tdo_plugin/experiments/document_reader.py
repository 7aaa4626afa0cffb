"""Reading experiment files, which are TOML.

Error messages name the file, the line and the key.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.report.cells import MEASURES
from tdo_plugin.experiments.document import CONDITION, OVERRIDES, Document, Table, Values
from tdo_plugin.names import PART
from tdo_plugin.typed import typed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_document(path: Path, find: Callable[[str], Path] | None = None) -> Document:
    """Read an experiment file.

    Args:
        path: the file.
        find: finds the file that `extends` names, unless it is a path relative to this file.

    Raises:
        UserError: the file is invalid; the message says where and why.
    """
    content, text = _content(path)
    above = [path.resolve()]
    while isinstance(extended := content.pop("extends", None), str):
        other = path.parent / extended
        other = other if other.is_file() or find is None else find(extended)
        if other.resolve() in above:
            raise UserError(f"{path.name}: `extends` must not form a cycle; {extended} does")
        above.append(other.resolve())
        base, _ = _content(other)
        base.pop("tables", None)
        content = _merged(base, content)
    try:
        document = _document(content, path)
    except ValueError as error:
        message = str(error).removeprefix("it.")
        unknown = UNKNOWN.match(message)
        place = f"{unknown[1]}.{unknown[2]}" if unknown else message
        raise UserError(f"{path.name}{_line(text, place)}: {message}") from None
    for place, reason in _mistakes(document):
        raise UserError(f"{path.name}{_line(text, place)}: {place} {reason}")
    return document


def _content(path: Path) -> tuple[Values, str]:
    """The tables of a TOML file, and its text."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UserError(f"`EXPERIMENTS` must be an experiment file; {path}: {reason}") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path.name} must be TOML; {error}") from None
    for place, value in _endless(content):
        raise UserError(f"{path.name}{_line(text, place)}: {place} must be finite; it is {value}")
    return content, text


def _endless(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Numbers that TOML allows and nothing here means, each with its place."""
    if isinstance(value, float) and not math.isfinite(value):
        yield place, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _endless(part, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _endless(part, f"{place}[{number}]")


def _merged(base: Values, changes: Values) -> Values:
    """One table updated by another, recursively for nested tables; lists are replaced whole."""
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _merged(base[key], value) if both else value
    return merged


def _document(content: Values, path: Path) -> Document:
    prepared = _with_whens(content, "")
    for table in prepared.get("tables", {}).values():
        if isinstance(table, dict) and isinstance(rows := table.get("rows"), dict):
            table["rows"] = {key: _row(row) for key, row in rows.items()}
    kinds = {field.name for field in fields(Document)} - {"path", "name"}
    if unknown := sorted(set(prepared) - kinds):
        raise ValueError(f"{unknown[0]} must be one of {', '.join(sorted(kinds))}")
    document: Document = typed(
        {"title": "", **prepared, "path": path, "name": path.stem}, _Readable, "it"
    )
    return replace(Document("", path, path.stem), **vars(document))


@dataclass(frozen=True)
class _Readable(Document):
    path: Any
    name: str


def _row(row: Any) -> Any:
    return {"label": row} if isinstance(row, str) else row


def _with_whens(value: Any, place: str) -> Any:
    """The value with conditions of each [[when]] separated from its overrides, as lists."""
    if isinstance(value, list):
        return [_with_whens(part, f"{place}[{n}]") for n, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result = {}
    for key, part in value.items():
        below = f"{place}.{key}" if place else key
        if key == "when" and isinstance(part, list):
            result[key] = [_when(when, f"{below}[{n}]") for n, when in enumerate(part)]
        else:
            result[key] = _with_whens(part, below)
    return result


def _when(when: Any, place: str) -> Any:
    if not isinstance(when, dict):
        raise ValueError(f"{place} must be a table; it is {when!r}")
    conditions = {
        key: [str(v) for v in value] if isinstance(value, list) else [str(value)]
        for key, value in when.items()
        if key not in OVERRIDES
    }
    return {"conditions": conditions} | {key: when[key] for key in OVERRIDES if key in when}


def _mistakes(document: Document) -> Iterator[tuple[str, str]]:
    """Invalid or unknown names, each with its place in the file."""
    conditions = {CONDITION, *document.options}
    parts = {f"systems.{name}": system for name, system in document.systems.items()} | {
        f"axes.{axis}.{name}": part
        for axis, values in document.axes.items()
        for name, part in values.items()
    }
    named = {f"axes.{axis}": values for axis, values in document.axes.items()}
    for kind in ("corpora", "systems", "axes", "tables"):
        named[kind] = getattr(document, kind)
    for kind, names in named.items():  # they become folders
        for name in names:
            if not PART.fullmatch(name):
                yield kind, f"must have names of letters, digits, and . _ -; {name!r} is not"
    places = {"when": document.when} | {f"{name}.when": part.when for name, part in parts.items()}
    for place, whens in places.items():
        for when in whens:
            for name in when.conditions:
                if name not in conditions:
                    yield place, f"must have conditions among {_listed(conditions)}; it has {name}"
    if document.recommended and document.recommended not in document.systems:
        yield "recommended", f"must be one of {_listed(document.systems)}"
    for name, part in parts.items():
        for base in part.base:
            if base not in document.systems:
                yield f"{name}.base", f"must name systems of this file; {base} is not"
        if part.corpus is not None and part.corpus not in document.corpora:
            yield f"{name}.corpus", f"must be one of {_listed(document.corpora)}"
        if part.continues not in (None, "restore", "finetune"):
            yield f"{name}.continues", "must be restore or finetune"
    for name, table in document.tables.items():
        yield from ((f"tables.{name}.{key}", reason) for key, reason in _of_table(document, table))
    for name, scale in document.scales.items():
        if scale.base is not None and scale.base not in document.scales:
            yield f"scales.{name}.base", f"must be one of {_listed(document.scales)}"
        if scale.detector not in (None, "lid.176"):
            yield f"scales.{name}.detector", f"must be lid.176; it is {scale.detector}"
    for name in document.options:
        if name in document.scales or name == CONDITION:
            yield f"options.{name}", "must not have the name of a scale"


def _of_table(document: Document, table: Table) -> Iterator[tuple[str, str]]:
    for axis in table.axes:
        if axis not in document.axes:
            yield "axes", f"must be among {_listed(document.axes)}; it has {axis}"
    if not (table.rows or table.axes or table.cells) and table.score is not False:
        yield "rows", "must be given, or axes, or cells, or score = false"
    with_axes = {name for name, other in document.tables.items() if other.axes}
    if table.cells and table.cells not in with_axes:
        yield "cells", f"must be a table with axes ({_listed(with_axes)}); it is {table.cells}"
        return
    if table.measure not in MEASURES:
        yield "measure", f"must be {' or '.join(MEASURES)}; it is {table.measure}"
    axes = document.tables[table.cells].axes if table.cells else table.axes
    for key, names in (("best", table.best), ("mean_over", filter(None, [table.mean_over]))):
        for axis in names:
            if axis not in axes:
                yield key, f"must be among the table's axes ({_listed(axes)}); it has {axis}"


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) or "none, since the file has none"


UNKNOWN = re.compile(r"(\S+) must have .*; (\S+) does not match$")  # a message of `typed`
HEADER = re.compile(r"\s*\[\[?\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def _line(text: str, place: str) -> str:
    """`, line 12`: the line of the key that a message begins with, or of its table."""
    place = place.partition(" ")[0]
    best, at = "", 0
    table = ""
    counts: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if header := HEADER.match(line):
            table = _plain(header[1])
            if line.lstrip().startswith("[["):
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            here = table
        elif key := KEY.match(line):
            here = f"{table}.{_plain(key[1])}" if table else _plain(key[1])
        else:
            continue
        if (place == here or place.startswith((f"{here}.", f"{here}["))) and len(here) >= len(best):
            best, at = here, number
    return f", line {at}" if at else ""


def _plain(key: str) -> str:
    return re.sub(r"\s*\.\s*", ".", key).replace('"', "").replace("'", "")
