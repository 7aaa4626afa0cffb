"""The rows of the table and of the JSON file: ratios of costs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from speed.measuring import Measurement
from speed.plan import BYTES

UNITS = {
    "training": "seconds per target token",
    "decoding": "seconds per sentence",
    **dict.fromkeys(BYTES, "bytes"),
}
HEAD = ("what", "system", "against", "ratio", "least to most")
WIDTHS = (70, 20, 24, 6, 13)


@dataclass(frozen=True)
class Row:
    """One system compared with another.

    Attributes:
        metric: the compared quantity.
        title: the metric and the distinguishing settings of the row.
        ratio: speed-up (baseline time / our time, higher is better), or our bytes / baseline
            bytes (lower is better).
        spread: minimum and maximum ratio over rounds.
        settings: sizes, machine, and the numbers of the ratio.
    """

    system: str
    baseline: str
    metric: str
    title: str
    ratio: float
    spread: tuple[float, float]
    settings: Mapping[str, Any]


def rows(measurement: Measurement, facts: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each pair of systems of a comparison.

    Args:
        measurement: the comparison's measurement.
        facts: further facts for the settings.
    """
    comparison, costs = measurement.comparison, measurement.costs
    for ours, baseline in comparison.pairs:
        pairs = zip(costs[ours], costs[baseline], strict=True)
        size = comparison.kind in BYTES
        ratios = [cost / base if size else base / cost for cost, base in pairs]
        figures = {
            "unit": UNITS[comparison.kind],
            "cost": statistics.median(costs[ours]),
            "baseline_cost": statistics.median(costs[baseline]),
            "rounds": len(ratios),
        }
        yield Row(
            system=ours,
            baseline=baseline,
            metric=comparison.metric,
            title=comparison.title,
            ratio=statistics.median(ratios),
            spread=(min(ratios), max(ratios)),
            settings={**comparison.settings(), **figures, **facts},
        )


def head() -> str:
    """The table's header, two lines of Markdown."""
    return f"{_line(HEAD)}\n{_line(tuple('-' * width for width in WIDTHS))}"


def line(row: Row) -> str:
    """A line of the table."""
    least, most = row.spread
    return _line(
        (row.title, row.system, row.baseline, f"{row.ratio:.2f}x", f"{least:.2f} to {most:.2f}")
    )


def _line(cells: tuple[str, ...]) -> str:
    parts = (cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return f"| {' | '.join(parts)} |"
