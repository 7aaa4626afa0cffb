"""The score sheet: what `tdo score` measured and `tdo report` shows, as one JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.sheet_numbers import check_numbers
from tdo_plugin.names import check_directions, check_titles
from tdo_plugin.typed import read_json, typed

FORMAT = 1  # of the file; raised when old files can no longer be read


@dataclass(frozen=True)
class Metric:
    """How a column is called and which way is better. Scores run from 0 to 100, TER higher."""

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
    """One system on one direction.

    Attributes:
        direction: `de-fr`.
        sentences: of its test set.
        scores: by key of `METRICS`; a metric that could not be computed is missing.
        shares: percent of the hypotheses in each of `target`, `english`, `source`, `other` and
            `undetectable`, which sum to 100; empty where the detector does not know the target.
        languages: how many hypotheses were identified as what, by the detector's label.
        confused: percent of the hypotheses in a language that the detector takes for the target's
            neighbour (`hr` and `bs`); part of `other`.
    """

    direction: str
    sentences: int
    scores: dict[str, float]
    shares: dict[str, float] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    confused: float = 0.0


@dataclass(frozen=True)
class SystemScores:
    """One system.

    Attributes:
        name: as the user called it.
        directions: in the order of the sheet's directions; one that failed is missing.
        pooled: by group and metric, the corpus score of all its sentences as one test set.
        correlations: by group, Pearson's between language accuracy and BLEU over its directions;
            without the groups where it is not defined.
        provenance: what made the hypotheses, as `tdo translate` wrote it down; empty for files from
            elsewhere.
    """

    name: str
    directions: tuple[DirectionScores, ...]
    pooled: dict[str, dict[str, float]] = field(default_factory=dict)
    correlations: dict[str, float] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    def of(self, direction: str) -> DirectionScores | None:
        """Its scores on a direction, if it has any."""
        return next((row for row in self.directions if row.direction == direction), None)


@dataclass(frozen=True)
class Difference:
    """A system against the baseline: both scores, their difference, its 95 % interval and p."""

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
        directions: by direction.
        groups: by group: the mean of the group's directions.
        win_ratio: by group, percent of directions on which the system is better; there without a
            significance test too, and then the only thing.
    """

    system: str
    baseline: str
    metric: str
    directions: dict[str, Difference]
    groups: dict[str, Difference]
    win_ratio: dict[str, float]


@dataclass(frozen=True)
class Example:
    """One test sentence with what the systems made of it; `chrf` is each one's sentence score.

    `source` is None where the source text is not known.
    """

    direction: str
    number: int
    source: str | None
    reference: str
    hypotheses: dict[str, str]
    chrf: dict[str, float]


@dataclass(frozen=True)
class ScoreSheet:
    """Everything that one run of `tdo score` found.

    Attributes:
        systems: in the order given; the first is the baseline of the comparisons.
        directions: all of them, in order.
        groups: directions by group, in order of display (`en → X`, `X → en`, `zero-shot`, `all`,
            then the user's). A direction may be in several.
        metrics: keys of `METRICS` in order of display, those that could not be computed too.
        signatures: by metric, every signature in use.
        missing: by metric, why it is not there.
        notes: what a reader must know, one sentence each.
        failures: directions that could not be scored, with the reason.
        samples: resamples of the significance tests; 0: there were none.
        seed: of the resamples.
        skip_zeros: whether means leave out scores that are exactly 0, as the TDO paper's do; never
            of a metric of which 0 is the best.
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
        """A system by its name."""
        return next(system for system in self.systems if system.name == name)

    def mean(self, name: str, group: str, metric: str) -> float | None:
        """The mean of a system's scores over a group's directions; None where it has none."""
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
    """The plain mean; with `skip_zeros` of what is not exactly 0 (0 if all are); None of none."""
    if not values:
        return None
    counted = [value for value in values if value] if skip_zeros else values
    return fmean(counted) if counted else 0.0


def skips_zeros(metric: str, skip_zeros: bool) -> bool:
    """Whether a metric's means leave out zeros: where 0 is the best score, it is no failure."""
    return skip_zeros and METRICS[metric].higher_is_better


def as_json(sheet: ScoreSheet) -> dict[str, Any]:
    """The sheet as plain dictionaries and lists, means included for readers of the file."""
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


def read_sheet(path: Path) -> ScoreSheet:
    """Read a `scores.json`.

    Raises:
        UserError: no such file, or not one that `tdo score` wrote.
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
            f"`SCORES` must be a scores.json of tdo score; {path} is not one{reason}"
        ) from None
    return sheet


def _check_names(sheet: ScoreSheet, path: Path) -> None:
    """Raise UserError where the file has names that no run of `tdo score` gives."""
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
        raise ValueError("its means must be those of its scores")
    return sheet


def _check(sheet: ScoreSheet) -> None:
    """Raise ValueError where parts of a sheet name what is not there."""
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
            raise ValueError("its directions and systems must each have a name of their own")
    if any("-" not in direction for direction in sheet.directions):
        raise ValueError("its directions must be such as de-fr")


def merge(sheets: Iterable[ScoreSheet]) -> ScoreSheet:
    """Several sheets as one, for a report over systems that were scored apart.

    Raises:
        UserError: two systems of one name, or sheets of different protocols.
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
        measures = tuple(f"Not all systems' {name} has the same signatures." for name in differing)
        for system in sheet.systems:
            if system.name in names:
                raise UserError(
                    f"`SCORES` must name each system once; {system.name} is there twice"
                )
        if (sheet.protocol, sheet.skip_zeros) != (merged.protocol, merged.skip_zeros):
            raise UserError(
                "`SCORES` must all be of one protocol; they are "
                f"{merged.protocol or 'plain'} and {sheet.protocol or 'plain'}"
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
