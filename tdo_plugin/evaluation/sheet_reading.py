"""Reading a score sheet, with checks, as the file may be damaged or edited by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.score_sheet import FORMAT, METRICS, ScoreSheet, as_json
from tdo_plugin.evaluation.sheet_numbers import check_numbers
from tdo_plugin.names import check_directions, check_titles
from tdo_plugin.typed import read_json, typed


def read_sheet(path: Path) -> ScoreSheet:
    """Read a `scores.json`.

    Raises:
        UserError: a missing file, or one that `tdo score` did not write.
    """
    try:
        sheet = _from_json(read_json(path), path)
    except OSError as error:
        raise UserError(
            f"`SCORES` must be a scores.json of tdo score; {path}: {error.strerror}"
        ) from None
    except UserError:
        raise
    except ValueError as error:
        reason = (
            "" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else f": {error}"
        )
        raise UserError(
            f"`SCORES` must be a scores.json of tdo score; {path} is not{reason}"
        ) from None
    return sheet


def _check_names(sheet: ScoreSheet, path: Path) -> None:
    """Raise UserError for names that no run of `tdo score` writes."""
    compared = [
        name
        for comparison in sheet.comparisons
        for name in (comparison.system, comparison.baseline)
    ]
    check_titles([*(system.name for system in sheet.systems), *compared], f"`{path.name}`")
    check_titles(sheet.groups, f"`{path.name}`")
    rows = [row.direction for system in sheet.systems for row in system.directions]
    among = [*sheet.directions, *rows, *(name for names in sheet.groups.values() for name in names)]
    check_directions(among, f"`{path.name}`")


def _from_json(data: Any, path: Path) -> ScoreSheet:
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT or "means" not in data:
        raise ValueError(f"it must be an object of format {FORMAT}")
    means = data.pop("means")
    sheet: ScoreSheet = typed(data, ScoreSheet, "it")
    _check_names(sheet, path)
    _check(sheet)
    check_numbers(sheet)
    if means != json.loads(json.dumps(as_json(sheet)["means"])):
        raise ValueError("its means must match its scores")
    return sheet


def _check(sheet: ScoreSheet) -> None:
    """Raise ValueError if parts of a sheet have unknown names."""
    names = [system.name for system in sheet.systems]
    measured = {key for system in sheet.systems for row in system.directions for key in row.scores}
    named = {
        "metrics": ({*sheet.metrics, *sheet.missing, *sheet.signatures, *measured}, METRICS),
        "directions of groups": (
            {direction for members in sheet.groups.values() for direction in members},
            sheet.directions,
        ),
        "directions of systems": (
            {row.direction for system in sheet.systems for row in system.directions},
            sheet.directions,
        ),
        "directions of examples": (
            {example.direction for example in sheet.examples},
            sheet.directions,
        ),
        "systems of examples": (
            {name for example in sheet.examples for name in (*example.hypotheses, *example.chrf)},
            names,
        ),
        "systems of comparisons": (
            {
                name
                for comparison in sheet.comparisons
                for name in (comparison.system, comparison.baseline)
            },
            names,
        ),
        "metrics of comparisons": (
            {comparison.metric for comparison in sheet.comparisons},
            METRICS,
        ),
        "directions of comparisons": (
            {name for comparison in sheet.comparisons for name in comparison.directions},
            sheet.directions,
        ),
        "groups of comparisons": (
            {
                name
                for comparison in sheet.comparisons
                for name in (*comparison.groups, *comparison.win_ratio)
            },
            sheet.groups,
        ),
        "groups of systems": (
            {name for system in sheet.systems for name in (*system.pooled, *system.correlations)},
            sheet.groups,
        ),
    }
    for what, (used, allowed) in named.items():
        if unknown := sorted(used - set(allowed)):
            raise ValueError(
                f"its {what} must be among {', '.join(allowed)}; {shown(unknown[0])} is not"
            )
    for values in (sheet.directions, names):
        if len(set(values)) < len(values) or any(not value for value in values):
            raise ValueError("its directions and systems must each have a unique name")
    if any("-" not in direction for direction in sheet.directions):
        raise ValueError("its directions must be like de-fr")
