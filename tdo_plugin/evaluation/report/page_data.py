"""The data from which the page's figures are drawn."""

from __future__ import annotations

from math import isfinite
from typing import Any

from tdo_plugin.evaluation.report.quantities import group_label
from tdo_plugin.evaluation.report.report_files import languages_of
from tdo_plugin.evaluation.report.report_tables import measured_metrics
from tdo_plugin.evaluation.score_sheet import METRICS, Difference, ScoreSheet
from tdo_plugin.metrics.language_id.language_names import language_name


def page_data(sheet: ScoreSheet, first: str) -> dict[str, Any]:
    """Scores, differences and examples as plain values, rounded to four decimals.

    Args:
        sheet: the scores.
        first: the system that figures show first.
    """
    codes = languages_of(sheet)
    return {
        "first": first,
        "languages": codes,
        "languageNames": {code: language_name(code) for code in codes},
        "directions": sheet.directions,
        "groups": sheet.groups,
        "groupLabels": {group: group_label(sheet, group) for group in sheet.groups},
        "metrics": [
            {
                "key": key,
                "name": METRICS[key].name,
                "higher": METRICS[key].higher_is_better,
                "digits": METRICS[key].digits,
            }
            for key in measured_metrics(sheet)
        ],
        "systems": [
            {
                "name": system.name,
                "scores": {row.direction: _rounded(row.scores) for row in system.directions},
                "shares": {
                    row.direction: _rounded({**row.shares, "confused": row.confused})
                    for row in system.directions
                    if row.shares
                },
                "languages": {row.direction: row.languages for row in system.directions},
            }
            for system in sheet.systems
        ],
        "comparisons": [
            {
                "system": comparison.system,
                "baseline": comparison.baseline,
                "metric": comparison.metric,
                "directions": {
                    key: _interval(value) for key, value in comparison.directions.items()
                },
            }
            for comparison in sheet.comparisons
        ],
        "examples": [
            {
                "direction": example.direction,
                "number": example.number,
                "source": example.source,
                "reference": example.reference,
                "hypotheses": example.hypotheses,
                "chrf": _rounded(example.chrf),
                "random": example.random,
            }
            for example in sheet.examples
        ],
    }


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 4) for key, value in values.items() if isfinite(value)}


def _interval(difference: Difference) -> list[float]:
    return [
        round(value, 4)
        for value in (difference.difference, difference.low, difference.high, difference.p)
    ]
