"""The score sheet: the scores that `tdo score` measures and `tdo report` shows, as a JSON file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from tdo_plugin.errors import UserError

FORMAT = 1  # file format version; raised when old files can no longer be read


@dataclass(frozen=True)
class Metric:
    """A metric's name and better direction. Scores are from 0 to 100; TER may exceed 100."""

    key: str
    name: str
    higher_is_better: bool = True
    digits: int = 1


METRICS = {
    metric.key: metric
    for metric in (
        Metric("bleu", "BLEU"),
        Metric("chrf", "chrF++"),
        Metric("ter", "TER", higher_is_better=False),
        Metric("bertscore", "BERTScore"),
        Metric("comet", "COMET"),
        Metric("off", "off-target %", higher_is_better=False),
        Metric("perplexity", "perplexity", higher_is_better=False, digits=2),
    )
}


@dataclass(frozen=True)
class DirectionScores:
    """Scores of one system on one direction.

    Attributes:
        direction: such as `de-fr`.
        sentences: number of sentences in the test set.
        scores: scores by key of `METRICS`, without metrics that could not be computed.
        shares: percentage of hypotheses in each of `target`, `english`, `source`, `other` and
            `undetectable`, which sum to 100; empty if the detector does not support the target.
        languages: number of hypotheses by the detector's language label.
        confused: percentage of hypotheses in a language that the detector confuses with the target
            (such as `hr` and `bs`); part of `other`.
    """

    direction: str
    sentences: int
    scores: dict[str, float]
    shares: dict[str, float] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    confused: float = 0.0


@dataclass(frozen=True)
class SystemScores:
    """Scores of one system.

    Attributes:
        name: the name given by the user.
        directions: in the order of the sheet's directions, without failed ones.
        pooled: by group and metric, the corpus score of all its sentences as one test set.
        correlations: by group, Pearson's correlation between language accuracy and BLEU over its
            directions; without groups where it is undefined.
        provenance: how `tdo translate` made the hypotheses; empty for files from other tools.
    """

    name: str
    directions: tuple[DirectionScores, ...]
    pooled: dict[str, dict[str, float]] = field(default_factory=dict)
    correlations: dict[str, float] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    def of(self, direction: str) -> DirectionScores | None:
        """The scores on a direction, if there are any."""
        return next((row for row in self.directions if row.direction == direction), None)


@dataclass(frozen=True)
class Difference:
    """A system against a baseline: both scores, their difference, its 95 % interval and p."""

    system: float
    baseline: float
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Comparison:
    """A system against a baseline in one metric, by paired bootstrap.

    Attributes:
        directions: differences by direction.
        groups: differences of the means over a group's directions, by group.
        win_ratio: by group, percentage of directions on which the system is better; the only
            non-empty attribute without a significance test.
    """

    system: str
    baseline: str
    metric: str
    directions: dict[str, Difference]
    groups: dict[str, Difference]
    win_ratio: dict[str, float]


@dataclass(frozen=True)
class Example:
    """One test sentence with the systems' hypotheses and their sentence-level chrF++.

    `source` is None if the source text is unknown. `random` examples are a random sample; the
    others show differences between the systems.
    """

    direction: str
    number: int
    source: str | None
    reference: str
    hypotheses: dict[str, str]
    chrf: dict[str, float]
    random: bool = False


@dataclass(frozen=True)
class ScoreSheet:
    """The results of a run of `tdo score`.

    Attributes:
        systems: the systems, in the order given by the user.
        directions: all directions, in order.
        groups: directions by group, in order of display (`en → X`, `X → en`, `zero-shot`, `all`,
            then the user's). A direction may be in several.
        metrics: keys of `METRICS` in order of display, including those that could not be computed.
        signatures: every signature in use, by metric.
        missing: why a metric is missing or incomplete, by metric.
        notes: caveats for readers, one sentence each.
        failures: directions that could not be scored, with the reason.
        samples: resamples of the significance tests; 0 without tests.
        seed: seed of the resamples.
        skip_zeros: whether means exclude scores that are exactly 0, as in the TDO paper; never for
            metrics where 0 is the best score.
        protocol: `tdo`, `opus100`, `tpdm`, `tlm`, `neurons`, or None.
        made_by: version, git commit and command of the scoring.
    """

    systems: tuple[SystemScores, ...]
    directions: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    metrics: tuple[str, ...]
    comparisons: tuple[Comparison, ...] = ()
    examples: tuple[Example, ...] = ()
    signatures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    samples: int = 0
    seed: int = 0
    skip_zeros: bool = False
    protocol: str | None = None
    made_by: dict[str, Any] = field(default_factory=dict)

    def system(self, name: str) -> SystemScores:
        """A system by name."""
        return next(system for system in self.systems if system.name == name)

    def mean(self, name: str, group: str, metric: str) -> float | None:
        """The mean of a system's scores over a group's directions; None if there are none."""
        rows = (self.system(name).of(direction) for direction in self.groups[group])
        values = [row.scores[metric] for row in rows if row and metric in row.scores]
        return mean(values, skips_zeros(metric, self.skip_zeros))

    def comparison(self, system: str, baseline: str, metric: str) -> Comparison | None:
        """The comparison of two systems in one metric, if it was made."""
        key = (system, baseline, metric)
        return next(
            (
                comparison
                for comparison in self.comparisons
                if (comparison.system, comparison.baseline, comparison.metric) == key
            ),
            None,
        )


def mean(values: Sequence[float], skip_zeros: bool = False) -> float | None:
    """The mean, with `skip_zeros` over non-zero values (0 if all are 0); None without values."""
    if not values:
        return None
    counted = [value for value in values if value] if skip_zeros else values
    return fmean(counted) if counted else 0.0


def skips_zeros(metric: str, skip_zeros: bool) -> bool:
    """Whether a metric's means exclude zeros, which they never do if 0 is the best score."""
    return skip_zeros and METRICS[metric].higher_is_better


def as_json(sheet: ScoreSheet) -> dict[str, Any]:
    """The sheet as plain dictionaries and lists, with means for readers of the file."""
    means = {
        system.name: {
            group: {
                metric: value
                for metric in sheet.metrics
                if (value := sheet.mean(system.name, group, metric)) is not None
            }
            for group in sheet.groups
        }
        for system in sheet.systems
    }
    return {"format": FORMAT, "means": means, **asdict(sheet)}


def merge(sheets: Iterable[ScoreSheet]) -> ScoreSheet:
    """Merge several sheets, for a report over systems that were scored separately.

    Raises:
        UserError: two systems with the same name, or sheets with different protocols.
    """
    first, *rest = sheets
    merged = first
    for sheet in rest:
        names = {system.name for system in merged.systems}
        differing = [
            METRICS[key].name
            for key, signatures in sheet.signatures.items()
            if set(merged.signatures.get(key, signatures)) != set(signatures)
        ]
        measures = tuple(f"The signatures of {name} differ between systems." for name in differing)
        for system in sheet.systems:
            if system.name in names:
                raise UserError(f"`SCORES` must name each system once; {system.name} occurs twice")
        if (sheet.protocol, sheet.skip_zeros) != (merged.protocol, merged.skip_zeros):
            raise UserError(
                "`SCORES` must all have the same protocol; they have "
                f"{merged.protocol or 'none'} and {sheet.protocol or 'none'}"
            )
        merged = ScoreSheet(
            systems=merged.systems + sheet.systems,
            directions=_union(merged.directions, sheet.directions),
            groups={
                group: _union(merged.groups.get(group, ()), sheet.groups.get(group, ()))
                for group in _union(tuple(merged.groups), tuple(sheet.groups))
            },
            metrics=tuple(key for key in METRICS if key in {*merged.metrics, *sheet.metrics}),
            comparisons=merged.comparisons + sheet.comparisons,
            examples=merged.examples + sheet.examples,
            signatures={
                key: _union(merged.signatures.get(key, ()), sheet.signatures.get(key, ()))
                for key in _union(tuple(merged.signatures), tuple(sheet.signatures))
            },
            missing={**merged.missing, **sheet.missing},
            notes=_union(merged.notes, sheet.notes + measures),
            failures=_union(merged.failures, sheet.failures),
            samples=max(merged.samples, sheet.samples),
            seed=merged.seed,
            skip_zeros=merged.skip_zeros,
            protocol=merged.protocol,
            made_by={**sheet.made_by, **merged.made_by},
        )
    return merged


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
