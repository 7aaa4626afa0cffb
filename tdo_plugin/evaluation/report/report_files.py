"""The numbers as files for other programs: long-form CSV, JSON, source-by-target matrices."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tdo_plugin.evaluation.report.published_comparison import Beside
from tdo_plugin.evaluation.report.quantities import comparison_of
from tdo_plugin.evaluation.score_sheet import Difference, ScoreSheet, as_json
from tdo_plugin.runtime.files import complete_file

WHAT = ("source", "system", "scope", "of", "metric", "value")
AGAINST = ("baseline", "difference", "low", "high", "p")
BLANK = [""] * len(AGAINST)


def languages_of(sheet: ScoreSheet) -> list[str]:
    """Every language of the sheet's directions, in order."""
    return list(
        dict.fromkeys(code for direction in sheet.directions for code in direction.split("-"))
    )


def grid(sheet: ScoreSheet, system: str, metric: str) -> list[list[float | None]]:
    """A metric's scores: one row per source in `languages_of`, one column per target."""
    scores = {row.direction: row.scores.get(metric) for row in sheet.system(system).directions}
    codes = languages_of(sheet)
    return [[scores.get(f"{source}-{target}") for target in codes] for source in codes]


def write_matrix(path: Path, sheet: ScoreSheet, system: str, metric: str) -> None:
    """Write the grid as CSV, with empty fields for directions without score."""
    codes = languages_of(sheet)
    rows = zip(codes, grid(sheet, system, metric), strict=True)
    write_rows(path, ["source", *codes], ([source, *row] for source, row in rows))


def write_csv(path: Path, sheet: ScoreSheet, beside: Sequence[Beside]) -> None:
    """Write one number per line.

    `source` is `measured`, or a published table such as `tdo:1`. `scope` is `group` (a mean),
    `pooled` or `direction`, and `of` its name. For comparisons with a baseline, further columns
    have the difference, its interval and p.
    """
    write_rows(path, (*WHAT, *AGAINST), [*_measured(sheet), *_published(sheet, beside)])


def write_rows(path: Path, head: Iterable[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file atomically."""
    with complete_file(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _measured(sheet: ScoreSheet) -> Iterator[list[object]]:
    for system in sheet.systems:
        for metric in sheet.metrics:
            comparison = comparison_of(sheet, system.name, metric)
            means = {group: sheet.mean(system.name, group, metric) for group in sheet.groups}
            pooled = {group: scores.get(metric) for group, scores in system.pooled.items()}
            scores = {row.direction: row.scores.get(metric) for row in system.directions}
            for scope, values, differences in (
                ("group", means, comparison.groups if comparison else {}),
                ("pooled", pooled, {}),
                ("direction", scores, comparison.directions if comparison else {}),
            ):
                for of, value in values.items():
                    if value is not None:
                        difference = differences.get(of)
                        against = (
                            _against(difference, comparison.baseline)
                            if comparison and difference
                            else BLANK
                        )
                        yield ["measured", system.name, scope, of, metric, value, *against]


def _against(difference: Difference, baseline: str) -> list[object]:
    return [baseline, difference.difference, difference.low, difference.high, difference.p]


def _published(sheet: ScoreSheet, beside: Iterable[Beside]) -> Iterator[list[object]]:
    for published_table in beside:
        for row in published_table.rows:
            for quantity, value in zip(published_table.quantities, row.values, strict=True):
                if value is not None:
                    of = [quantity.scope(sheet), quantity.group, quantity.metric]
                    yield [published_table.key, row.name, *of, value, *BLANK]


def write_json(path: Path, sheet: ScoreSheet, beside: Sequence[Beside]) -> None:
    """Write the complete sheet with its means, and the published rows."""
    content: dict[str, Any] = {
        **as_json(sheet),
        "published": [asdict(published_table) for published_table in beside],
    }
    with complete_file(path) as stream:
        json.dump(content, stream, indent=1, ensure_ascii=False)
        stream.write("\n")


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Each name as a part of a file name, unique even if case is ignored."""
    by_name: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.+-]+", "_", name).strip("._") or "system"
        slug, taken, number = plain, {used.casefold() for used in by_name.values()}, 2
        while slug.casefold() in taken:
            slug, number = f"{plain}-{number}", number + 1
        by_name[name] = slug
    return by_name
