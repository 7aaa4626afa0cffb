"""From texts of several systems to a score sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tdo_plugin.evaluation.examples import pick, sentence_scores
from tdo_plugin.evaluation.groups import Groups, pearson
from tdo_plugin.evaluation.measuring import Measured, Plan, measure_all
from tdo_plugin.evaluation.outputs import Texts
from tdo_plugin.evaluation.scores import (
    METRICS,
    Comparison,
    DirectionScores,
    Example,
    ScoreSheet,
    SystemScores,
)
from tdo_plugin.evaluation.significance import compare
from tdo_plugin.metrics.language_id.codes import confusable
from tdo_plugin.metrics.segments import Segments, Unavailable
from tdo_plugin.metrics.statistics import Statistics, mean_of_segments, pooled
from tdo_plugin.metrics.text import looks_tokenized

Say = Callable[[str], None]


class NeuralMetric(Protocol):
    """A metric that a model computes, for all directions at once."""

    key: str

    def signature(self, target: str) -> str:
        """Everything that a score for this target language depends on."""

    def score(self, segments: list[Segments]) -> list[np.ndarray]:
        """A score for each sentence of each test set, 0 to 100; raises Unavailable."""


@dataclass(frozen=True)
class SystemTexts:
    """A system to score: its texts by direction, and what is known of how they were made."""

    name: str
    texts: dict[str, Texts]
    provenance: dict[str, Any] = field(default_factory=dict)
    perplexities: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """What to measure and compare.

    Attributes:
        metrics: keys of `METRICS`, in order of display.
        plan: how text metrics and languages are measured.
        groups: directions by group.
        baseline: the system that the others are compared with.
        skip_zeros: whether means leave out scores of exactly 0.
        pooled: whether groups are also scored as one test set.
        samples: resamples of the significance test; 0: no test.
        examples: sentences a direction.
        protocol: a paper's, or None.
        workers: processes for text metrics.
    """

    metrics: tuple[str, ...]
    plan: Plan
    groups: Groups
    baseline: str
    skip_zeros: bool = False
    pooled: bool = False
    samples: int = 1000
    examples: int = 5
    protocol: str | None = None
    workers: int = 1


NEED_SOURCES = ("comet",)

# statistics by system, direction and metric
Table = dict[str, dict[str, dict[str, Statistics]]]


def score(
    systems: Sequence[SystemTexts],
    directions: Sequence[str],
    neural: Mapping[str, Callable[[], NeuralMetric]],
    settings: Settings,
    say: Say = lambda _: None,
) -> ScoreSheet:
    """Measure everything.

    Args:
        systems: to be scored; the order is kept.
        directions: in order of display.
        neural: makers of the neural metrics that are wanted, by key; one that raises `Unavailable`
            leaves its column empty, with the reason.
        settings: what to measure.
        say: told how far it is.

    Returns:
        The sheet, without `made_by` and `failures`, which the caller knows.
    """
    units = [(s.name, d, s.texts[d]) for s in systems for d in directions if d in s.texts]
    table: Table = {system.name: {} for system in systems}
    measured: dict[tuple[str, str], Measured] = {}
    signatures: dict[str, dict[str, None]] = {}
    results = measure_all(settings.plan, [texts for *_, texts in units], settings.workers)
    for (name, direction, _), one in zip(units, results, strict=True):
        measured[name, direction] = one
        table[name][direction] = dict(one.statistics)
        for key, signature in one.signatures.items():
            signatures.setdefault(key, {})[signature] = None
        say(f"{name} {direction}")
    missing: dict[str, str] = {}
    for key, make in neural.items():
        say(METRICS[key].name)
        try:
            metric = make()
            _add_neural(metric, units, table, signatures)
        except Unavailable as reason:
            missing[key] = str(reason)
    kept = tuple(key for key in METRICS if key in settings.metrics)
    return ScoreSheet(
        systems=tuple(_system(s, table[s.name], measured, settings) for s in systems),
        directions=tuple(directions),
        groups=settings.groups,
        metrics=kept,
        comparisons=tuple(_comparisons(table, kept, settings, say)),
        examples=tuple(_examples(systems, directions, table, settings)),
        signatures={key: tuple(signatures[key]) for key in kept if key in signatures},
        missing=missing,
        notes=tuple(_notes(systems, directions, measured, settings)),
        skip_zeros=settings.skip_zeros,
        protocol=settings.protocol,
    )


def _add_neural(
    metric: NeuralMetric,
    units: Sequence[tuple[str, str, Texts]],
    table: Table,
    signatures: dict[str, dict[str, None]],
) -> None:
    """Add a metric's statistics and signatures to the tables.

    Raises:
        Unavailable: it cannot be computed, or only where the source text is known.
    """
    usable = [unit for unit in units if unit[2].sources is not None]
    if metric.key not in NEED_SOURCES or not usable:
        usable = list(units)
    segments = [
        Segments(direction.split("-")[1], texts.sources, texts.hypotheses, texts.references)
        for _, direction, texts in usable
    ]
    for (name, direction, _), scores in zip(usable, metric.score(segments), strict=True):
        table[name][direction][metric.key] = mean_of_segments(scores)
    for segment in segments:
        signatures.setdefault(metric.key, {})[metric.signature(segment.target)] = None
    if len(usable) < len(units):
        lacking = dict.fromkeys(direction for _, direction, texts in units if not texts.sources)
        raise Unavailable(f"it needs the source text, which {', '.join(lacking)} do not have")


def _system(
    system: SystemTexts,
    table: dict[str, dict[str, Statistics]],
    measured: Mapping[tuple[str, str], Measured],
    settings: Settings,
) -> SystemScores:
    rows = []
    for direction, statistics in table.items():
        scores = {key: one.score() for key, one in statistics.items() if key in settings.metrics}
        if "perplexity" in settings.metrics and direction in system.perplexities:
            scores["perplexity"] = system.perplexities[direction]
        found = measured[system.name, direction].shares
        rows.append(
            DirectionScores(
                direction=direction,
                sentences=len(system.texts[direction].references),
                scores=scores,
                shares=found.shares if found else {},
                languages=found.languages if found else {},
                confused=found.confused if found else 0.0,
            )
        )
    return SystemScores(
        name=system.name,
        directions=tuple(rows),
        pooled=_pooled(table, settings) if settings.pooled else {},
        correlation=_accuracy_and_bleu(rows),
        provenance=system.provenance,
    )


def _pooled(
    table: dict[str, dict[str, Statistics]], settings: Settings
) -> dict[str, dict[str, float]]:
    """Each group as one test set. Tokenizers may differ by target; the statistics still add up."""
    result: dict[str, dict[str, float]] = {}
    for group, members in settings.groups.items():
        for key in settings.metrics:
            parts = [table[d][key] for d in members if d in table and key in table[d]]
            if parts:
                result.setdefault(group, {})[key] = pooled(parts).score()
    return result


def _accuracy_and_bleu(rows: Sequence[DirectionScores]) -> float | None:
    both = [row.scores for row in rows if {"off", "bleu"} <= row.scores.keys()]
    return pearson([100 - one["off"] for one in both], [one["bleu"] for one in both])


def _comparisons(
    table: Table, metrics: Sequence[str], settings: Settings, say: Say
) -> list[Comparison]:
    if not settings.samples:
        return []
    result = []
    for name in table:
        for metric in metrics:
            own, other = (
                {d: stats[metric] for d, stats in table[system].items() if metric in stats}
                for system in (name, settings.baseline)
            )
            if name == settings.baseline or not own.keys() & other.keys():
                continue
            say(f"{name} against {settings.baseline}: {METRICS[metric].name}")
            result.append(
                compare(
                    *(name, settings.baseline, metric, own, other, settings.groups),
                    samples=settings.samples,
                    skip_zeros=settings.skip_zeros,
                )
            )
    return result


def _examples(
    systems: Sequence[SystemTexts], directions: Sequence[str], table: Table, settings: Settings
) -> list[Example]:
    """Sentences where the systems that have the direction differ most."""
    result: list[Example] = []
    for direction in directions:
        here = [one for one in systems if direction in one.texts]
        if not settings.examples or "chrf" not in settings.plan.metrics or not here:
            continue
        scores: dict[str, np.ndarray] = {
            one.name: sentence_scores(table[one.name][direction]["chrf"]) for one in here
        }
        texts = {one.name: one.texts[direction] for one in here}
        first = texts[here[0].name]
        hypotheses = {name: one.hypotheses for name, one in texts.items()}
        result += pick(
            direction, first.sources, first.references, hypotheses, scores, settings.examples
        )
    return result


def _notes(
    systems: Sequence[SystemTexts],
    directions: Sequence[str],
    measured: Mapping[tuple[str, str], Measured],
    settings: Settings,
) -> list[str]:
    notes = []
    for system in systems:
        lacking = [direction for direction in directions if direction not in system.texts]
        if lacking:
            notes.append(f"{system.name} has no hypotheses of {', '.join(lacking)}.")
        empty = {d: sum(not h.strip() for h in t.hypotheses) for d, t in system.texts.items()}
        if any(empty.values()):
            shown = ", ".join(f"{count} of {d}" for d, count in empty.items() if count)
            notes.append(f"{system.name} has empty hypotheses, which score 0: {shown}.")
    if settings.plan.detector is not None:
        notes += _language_notes(measured)
    tokenized = dict.fromkeys(
        direction
        for system in systems
        for direction, texts in system.texts.items()
        if looks_tokenized(texts.references)
    )
    if tokenized:
        notes.append(
            f"References look tokenized, so scores are not comparable: {', '.join(tokenized)}."
        )
    return notes


def _language_notes(measured: Mapping[tuple[str, str], Measured]) -> list[str]:
    targets = {direction.split("-")[1]: one for (_, direction), one in measured.items()}
    unknown = sorted(target for target, one in targets.items() if one.shares is None)
    notes = []
    if unknown:
        notes.append(
            f"Languages that the detector does not know, without an off-target share: "
            f"{', '.join(unknown)}."
        )
    groups = {
        " ".join(sorted({target, *near})): None
        for target in targets
        if (near := confusable(target))
    }
    if groups:
        notes.append(f"Languages that detectors take for each other: {'; '.join(groups)}.")
    return notes
