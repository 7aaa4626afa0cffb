"""The quantities of score columns, computed from a sheet for each system."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tdo_plugin.evaluation.report.table import Column, heading
from tdo_plugin.evaluation.score_sheet import METRICS, Comparison, Metric, ScoreSheet
from tdo_plugin.metrics.language_id.language_names import direction_name

MEASURES = {
    **METRICS,
    "accuracy": Metric("accuracy", "language accuracy %"),
    "win-ratio": Metric("win-ratio", "win ratio %"),
}
BY_SIDE = re.compile(r"\S+ → \S+(, trained)?")  # standard groups other than zero-shot and unions
NEEDED = {"accuracy": "off", "win-ratio": "bleu"}  # the metric from which each is derived


@dataclass(frozen=True)
class Quantity:
    """A metric's mean over a group, or the score of the group as one test set.

    `metric` is a key of `MEASURES`; `group` may also be a single direction.
    """

    metric: str
    group: str
    pooled: bool = False

    def of(self, sheet: ScoreSheet, system: str) -> float | None:
        """The value for a system, if the sheet has one."""
        if self.pooled:
            return sheet.system(system).pooled.get(self.group, {}).get(self.metric)
        if self.group in sheet.groups:
            return sheet.mean(system, self.group, self.metric)
        row = sheet.system(system).of(self.group)
        return row.scores.get(self.metric) if row else None

    def values(self, sheet: ScoreSheet) -> list[float | None]:
        """The values for all systems."""
        return [self.of(sheet, system.name) for system in sheet.systems]

    def measured(self, sheet: ScoreSheet) -> bool:
        """Whether any system has a value."""
        return any(value is not None for value in self.values(sheet))

    def complete(self, sheet: ScoreSheet) -> list[bool]:
        """For every system, whether its value covers all directions that any system covers."""
        members = set(sheet.groups.get(self.group, (self.group,)))
        metric = NEEDED.get(self.metric, self.metric)
        have = [
            members & {row.direction for row in system.directions if metric in row.scores}
            for system in sheet.systems
        ]
        return [directions == set().union(*have) for directions in have]

    def scope(self, sheet: ScoreSheet) -> str:
        """`group` (a mean), `pooled` or `direction`."""
        if self.pooled:
            return "pooled"
        return "group" if self.group in sheet.groups else "direction"

    def column(self, sheet: ScoreSheet) -> Column:
        """The column heading."""
        name = arrow(self.group) if self.scope(sheet) == "direction" else self.group
        return Column(heading(MEASURES[self.metric], self.pooled), name)


class Accuracy(Quantity):
    """Percentage of hypotheses in the target language: 100 minus the off-target rate."""

    def of(self, sheet: ScoreSheet, system: str) -> float | None:
        """The value for a system, if the sheet has one."""
        off = Quantity("off", self.group, self.pooled).of(sheet, system)
        return None if off is None else 100 - off


class WinRatio(Quantity):
    """Percentage of a group's directions with a BLEU above the baseline's."""

    def of(self, sheet: ScoreSheet, system: str) -> float | None:
        """The value for a system that was compared with a baseline."""
        comparison = comparison_of(sheet, system, "bleu")
        return comparison.win_ratio.get(self.group) if comparison else None

    def complete(self, sheet: ScoreSheet) -> list[bool]:
        """As for any quantity; values against several baselines are not comparable."""
        comparable = len({comparison.baseline for comparison in sheet.comparisons}) == 1
        return [comparable and whole for whole in super().complete(sheet)]


def quantity_of(metric: str, group: str, pooled: bool = False) -> Quantity:
    """The quantity of a metric, measured or derived."""
    kinds = {"accuracy": Accuracy, "win-ratio": WinRatio}
    return kinds.get(metric, Quantity)(metric, group, pooled)


def comparison_of(sheet: ScoreSheet, system: str, metric: str) -> Comparison | None:
    """A system's comparison with its baseline in one metric."""
    return next(
        (
            comparison
            for comparison in sheet.comparisons
            if (comparison.system, comparison.metric) == (system, metric)
        ),
        None,
    )


def group_label(sheet: ScoreSheet, group: str) -> str:
    """A group's name for readers: that of the languages if `en → X` has a single direction."""
    members = sheet.groups[group]
    return direction_name(*members) if len(members) == 1 and BY_SIDE.fullmatch(group) else group


def arrow(direction: str) -> str:
    """`de-fr` as it is displayed, `de → fr`."""
    return direction.replace("-", " → ")
