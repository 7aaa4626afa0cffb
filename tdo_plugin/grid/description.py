"""A grid's JSON file, read; everything that is wrong with it is told at once."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdo_plugin import names
from tdo_plugin.data import shapes as k
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation import published
from tdo_plugin.evaluation.score_sheet import METRICS
from tdo_plugin.launch.training_config import IMPORTING

COLUMNS = ("cell", "run", "state", "parameters")  # of the table for programs, beside the axes

MEASURES = ("test", "validation")  # sets on which cells are scored

AXIS = k.all_of(
    k.matching("a name of letters, digits, - and _", names.AXIS),
    k.leaf(f"none of {', '.join(COLUMNS)}", lambda name: name not in COLUMNS),
)
NAME = k.matching("a name of letters, digits, and . _ + -", names.CELL)
LINE = k.leaf("text as of a line of a config", lambda line: _is_line(line))
LINES = k.list_of(LINE)
VALUE = k.list_or(LINE, k.record({"drops": k.list_of(k.TEXT, 1)}, {"lines": LINES}), least=0)
GRID = k.record(
    {"base": k.TEXT, "axes": k.map_of(k.map_of(VALUE, keys=NAME), keys=AXIS)},
    {
        "title": k.TEXT,
        "note": k.TEXT,
        "measure": k.one_of(*MEASURES),
        "cells": k.map_of(k.record({}, {"base": k.TEXT, "lines": LINES, "row": k.TEXT}), keys=NAME),
        "directions": k.TEXT,
        "metrics": k.list_of(k.one_of(*METRICS), least=1),
        "groups": k.list_of(k.TEXT, least=1),
        "mean_over": k.TEXT,
        "translate": LINES,
        "score": LINES,
        "published": k.TEXT,
        "row": k.TEXT,
        "best": k.map_of(k.record({"published": k.TEXT, "row": k.TEXT}), keys=AXIS),
    },
)
# what the runner says itself
MANAGED = {
    "translate": ("--path", "--out", "--pairs", "--workers", "--cpu", "--gpus", "--fresh"),
    "score": ("--out", "--data", "--directions", "--metrics"),
}


@dataclass(frozen=True)
class Value:
    """A value of an axis: lines for a config, and the axes whose lines would do nothing with it."""

    lines: tuple[str, ...]
    drops: tuple[str, ...] = ()


@dataclass(frozen=True)
class Further:
    """A cell that is no combination of values; `base` is None where it is the grid's."""

    base: Path | None = None
    lines: tuple[str, ...] = ()
    row: str | None = None


@dataclass(frozen=True)
class Beside:
    """A published table, and a template of the names of its rows."""

    published: str
    row: str

    def name(self, values: Mapping[str, str]) -> str:
        """Of the row for these values, by axis."""
        return self.row.format_map(values)


@dataclass(frozen=True)
class Grid:
    """A grid as its file has it.

    `measure` says whether test sets are translated when a training has ended, or the scores are
    those of its last validation. `mean_over` is the axis, such as of seeds, whose cells' mean
    counts and not the best of them. `row` is such a template too, and empty for the names of the
    cells; `best` has the tables beside the best cells, by axis. `note` stands below all tables.
    """

    path: Path
    title: str
    base: Path
    axes: dict[str, dict[str, Value]]
    note: str = ""
    cells: dict[str, Further] = field(default_factory=dict)
    measure: str = "test"
    directions: str = "all"
    metrics: tuple[str, ...] = ("bleu", "ter")
    groups: tuple[str, ...] = ()
    mean_over: str | None = None
    translate: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    published: str | None = None
    row: str = ""
    best: dict[str, Beside] = field(default_factory=dict)


class _Repeated(ValueError):
    pass


def read_grid(path: Path) -> Grid:
    """Read a grid file.

    Raises:
        UserError: no such file, or all that is wrong with it, in one line.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_object)
    except OSError as error:
        raise UserError(f"`GRID` must be a file; opening {path} gave: {error.strerror}") from None
    except _Repeated as error:
        raise UserError(f"`{path.name}` must name everything once; {error} is twice") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"`{path.name}` must be JSON; it is not ({error})") from None
    mistakes = [*GRID(document, "")] or [*_contradictions(document)]
    if mistakes:
        text = f"`{path.name}` must be a grid without mistakes; it has {len(mistakes)}: "
        raise UserError(" ".join((text + "; ".join(mistakes)).split()))
    for named in (document, *document.get("best", {}).values()):
        if "published" in named:
            published.table(named["published"])
    return _grid(path, document)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which JSON itself would let the last of equal keys win."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise _Repeated(key)
        content[key] = value
    return content


def _contradictions(document: Mapping[str, Any]) -> Iterator[str]:
    axes = document["axes"]
    if not axes:
        yield "axes must have at least one axis"
    for axis, values in axes.items():
        if not values:
            yield f"axes.{axis} must have at least one value"
        for name, value in values.items():
            other_axes = [other for other in axes if other != axis]
            for dropped in value["drops"] if isinstance(value, dict) else ():
                if dropped not in other_axes:
                    legal = ", ".join(other_axes) or "there is none"
                    yield f"axes.{axis}.{name}.drops must be other axes ({legal}); it has {dropped}"
    if unknown := k.placeholders(document.get("row", "")) - set(axes):
        yield f"row must have no other placeholders than axes; it has {{{min(unknown)}}}"
    for axis, named in document.get("best", {}).items():
        if axis not in axes:
            yield f"best must be of axes ({', '.join(axes) or 'there is none'}); it has {axis}"
        if k.placeholders(named["row"]) != {axis}:
            yield f"best.{axis}.row must have the placeholder {{{axis}}} and no other"
    over = document.get("mean_over")
    if over is not None and (over not in axes or len(axes) == 1):
        yield f"mean_over must be one of several axes ({', '.join(axes)}); it has {over}"
    if over is not None and "best" in document:
        yield "best must be left out where mean_over is given: means count then, not the best cells"
    if document.get("measure") == "validation":
        for key in sorted({"directions", "metrics", "translate", "score"} & document.keys()):
            yield f"{key} must be left out where measure is validation: --eval-translation says it"
        for key in sorted({"published", "best"} & document.keys()):
            yield f"{key} must be left out where measure is validation: papers report test sets"
    for command, options in MANAGED.items():
        words = [word.partition("=")[0] for word in _words(document.get(command, ()))]
        for option in [managed for managed in options if managed in words]:
            yield f"{command} must go without {option}, which tdo grid sets"
        if IMPORTING in words:
            yield f"{command} must go without {IMPORTING}, which runs code"
    # the tables of the best cells have rows of further cells too
    beside = {"published", "best"} & document.keys()
    named = [f"cells.{name}." for name, cell in document.get("cells", {}).items() if "row" in cell]
    for where in () if beside else named:
        yield f"{where}row must come with published"
    if "row" in document and "published" not in document:
        yield "row must come with published"


def _is_line(line: object) -> bool:
    """Whether it is text that can be split into words, and has any."""
    try:
        return (
            isinstance(line, str)
            and names.on_one_line(line.replace("\t", " "))
            and bool(shlex.split(line, comments=True))
        )
    except ValueError:
        return False


def _words(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for line in lines for word in shlex.split(line, comments=True))


def _value(value: Any) -> Value:
    if isinstance(value, list):
        return Value(tuple(value))
    return Value(tuple(value.get("lines", ())), tuple(value["drops"]))


def _grid(path: Path, document: Mapping[str, Any]) -> Grid:
    def beside(name: str) -> Path:
        return path.parent / name

    texts = ("note", "measure", "directions", "mean_over", "published", "row")
    optional = {key: document[key] for key in texts if key in document}
    optional |= {key: tuple(document[key]) for key in ("metrics", "groups") if key in document}
    return Grid(
        path=path,
        title=document.get("title", path.stem),
        base=beside(document["base"]),
        axes={
            axis: {name: _value(value) for name, value in values.items()}
            for axis, values in document["axes"].items()
        },
        cells={
            name: Further(
                beside(cell["base"]) if "base" in cell else None,
                tuple(cell.get("lines", ())),
                cell.get("row"),
            )
            for name, cell in document.get("cells", {}).items()
        },
        translate=_words(document.get("translate", ())),
        score=_words(document.get("score", ())),
        best={axis: Beside(**named) for axis, named in document.get("best", {}).items()},
        **optional,
    )
