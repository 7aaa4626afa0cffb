"""What the page's drawings are made from."""

from __future__ import annotations

from math import isfinite
from typing import Any

from tdo_plugin.evaluation.report.report_files import languages_of
from tdo_plugin.evaluation.report.report_tables import measured_metrics
from tdo_plugin.evaluation.score_sheet import METRICS, Difference, ScoreSheet


def page_data(sheet: ScoreSheet) -> dict[str, Any]:
    """Scores, differences and examples as plain values, rounded to four decimals."""
    return {
        "languages": languages_of(sheet),
        "directions": sheet.directions,
        "groups": sheet.groups,
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
                "scores": {one.direction: _rounded(one.scores) for one in system.directions},
                "shares": {
                    one.direction: _rounded({**one.shares, "confused": one.confused})
                    for one in system.directions
                    if one.shares
                },
                "languages": {one.direction: one.languages for one in system.directions},
            }
            for system in sheet.systems
        ],
        "comparisons": [
            {
                "system": one.system,
                "baseline": one.baseline,
                "metric": one.metric,
                "directions": {key: _interval(value) for key, value in one.directions.items()},
            }
            for one in sheet.comparisons
        ],
        "examples": [
            {
                "direction": one.direction,
                "number": one.number,
                "source": one.source,
                "reference": one.reference,
                "hypotheses": one.hypotheses,
                "chrf": _rounded(one.chrf),
            }
            for one in sheet.examples
        ],
    }


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 4) for key, value in values.items() if isfinite(value)}


def _interval(found: Difference) -> list[float]:
    return [round(value, 4) for value in (found.difference, found.low, found.high, found.p)]
