"""Scoring the texts of several systems into a score sheet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tdo_compat.errors import TRACEBACK
from tdo_plugin.evaluation.caveats import caveats
from tdo_plugin.evaluation.examples import pick, sentence_scores
from tdo_plugin.evaluation.groups import Groups, pearson
from tdo_plugin.evaluation.measuring import Measured, Plan, measure_all
from tdo_plugin.evaluation.outputs import Texts
from tdo_plugin.evaluation.score_sheet import (
    METRICS,
    Comparison,
    DirectionScores,
    Example,
    ScoreSheet,
    SystemScores,
)
from tdo_plugin.evaluation.significance import compare, win_ratios
from tdo_plugin.evaluation.systems import SystemTexts, parallel_directions
from tdo_plugin.metrics.segments import Segments, Unavailable
from tdo_plugin.metrics.statistics import Statistics, mean_of_segments, pooled

Say = Callable[[str], None]


class NeuralMetric(Protocol):
    """A neural metric, computed for all directions at once."""

    key: str

    def signature(self, target: str) -> str:
        """A description of everything that affects scores for this target language."""

    def score(self, segments: list[Segments]) -> list[np.ndarray]:
        """Scores from 0 to 100 for each sentence of each test set; raises Unavailable."""


@dataclass(frozen=True)
class Settings:
    """What to measure and compare.

    Attributes:
        metrics: keys of `METRICS`, in order of display.
        plan: how to measure text metrics and languages.
        groups: directions by group.
        baseline: the system to compare the others with.
        skip_zeros: whether means exclude scores of exactly 0.
        pooled: whether groups are also scored as one test set.
        samples: resamples of the significance test; 0: no test.
        seed: seed of the resamples.
        examples: example sentences per direction, of either kind.
        protocol: name of a paper's protocol, or None.
        workers: number of processes for text metrics.
    """

    metrics: tuple[str, ...]
    plan: Plan
    groups: Groups
    baseline: str
    skip_zeros: bool = False
    pooled: bool = False
    samples: int = 1000
    seed: int = 12345  # SacreBLEU's
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
    """Score all systems.

    Args:
        systems: the systems to score, in order of display.
        directions: in order of display.
        neural: factories of the requested neural metrics, by key; the column of a factory that
            raises `Unavailable` stays empty, with the reason.
        settings: what to measure.
        say: called with progress lines.

    Returns:
        The sheet, without `made_by` and `failures`, which the caller adds.
    """
    missing: dict[str, str] = {}
    opened = _open(neural, missing)
    units = [(s.name, d, s.texts[d]) for s in systems for d in directions if d in s.texts]
    table: Table = {system.name: {} for system in systems}
    measured: dict[tuple[str, str], Measured] = {}
    signatures: dict[str, dict[str, None]] = {}
    results = measure_all(settings.plan, [texts for *_, texts in units], settings.workers)
    for number, ((name, direction, _), result) in enumerate(zip(units, results, strict=True), 1):
        measured[name, direction] = result
        table[name][direction] = dict(result.statistics)
        for key, signature in result.signatures.items():
            signatures.setdefault(key, {})[signature] = None
        say(f"{number} of {len(units)}: {name} {direction}")
    for metric in opened:
        say(METRICS[metric.key].name)
        try:
            _add_neural(metric, units, table, signatures)
        except Exception as error:  # keep the other metrics on any error
            missing[metric.key] = _reason(error)
    if "perplexity" in settings.metrics:
        lacking = [f"{s.name} {d}" for s in systems for d in s.texts if d not in s.perplexities]
        if lacking:
            missing["perplexity"] = (
                "tdo translate --perplexity computes it for directions with a validation set; "
                f"unknown for {', '.join(lacking)}"
            )
    kept = tuple(key for key in METRICS if key in settings.metrics)
    return ScoreSheet(
        systems=tuple(_system(s, table[s.name], measured, settings) for s in systems),
        directions=tuple(directions),
        groups=settings.groups,
        metrics=kept,
        comparisons=tuple(_comparisons(table, kept, settings, parallel_directions(systems), say)),
        examples=tuple(_examples(systems, directions, table, settings)),
        signatures={key: tuple(signatures[key]) for key in kept if key in signatures},
        missing=missing,
        notes=tuple(caveats(systems, directions, measured, settings.plan.detector is not None)),
        samples=settings.samples,
        seed=settings.seed,
        skip_zeros=settings.skip_zeros,
        protocol=settings.protocol,
    )


def _open(
    neural: Mapping[str, Callable[[], NeuralMetric]], missing: dict[str, str]
) -> list[NeuralMetric]:
    """The available neural metrics, checked before any long computation."""
    opened = []
    for key, make in neural.items():
        try:
            opened.append(make())
        except Unavailable as reason:
            missing[key] = str(reason)
    return opened


def _reason(error: Exception) -> str:
    if os.environ.get(TRACEBACK) == "1" and not isinstance(error, Unavailable):
        raise error
    text = str(error).partition("\n")[0]
    one_line = isinstance(error, Unavailable) or getattr(error, "one_line", False)
    return text if one_line else f"{type(error).__name__}: {text}"


def _add_neural(
    metric: NeuralMetric,
    units: Sequence[tuple[str, str, Texts]],
    table: Table,
    signatures: dict[str, dict[str, None]],
) -> None:
    """Add a metric's statistics and signatures to the tables.

    Raises:
        Unavailable: the metric cannot be computed, or some directions lack its source text.
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
        raise Unavailable(f"it requires source text, which is missing for {', '.join(lacking)}")


def _system(
    system: SystemTexts,
    table: dict[str, dict[str, Statistics]],
    measured: Mapping[tuple[str, str], Measured],
    settings: Settings,
) -> SystemScores:
    rows = []
    for direction, statistics in table.items():
        scores = {
            key: statistic.score()
            for key, statistic in statistics.items()
            if key in settings.metrics
        }
        if "perplexity" in settings.metrics and direction in system.perplexities:
            scores["perplexity"] = system.perplexities[direction]
        shares = measured[system.name, direction].shares
        rows.append(
            DirectionScores(
                direction=direction,
                sentences=len(system.texts[direction].references),
                scores=scores,
                shares=shares.shares if shares else {},
                languages=shares.languages if shares else {},
                confused=shares.confused if shares else 0.0,
            )
        )
    return SystemScores(
        name=system.name,
        directions=tuple(rows),
        pooled=_pooled(table, settings) if settings.pooled else {},
        correlations=_correlations(rows, settings.groups),
        provenance=system.provenance,
    )


def _pooled(
    table: dict[str, dict[str, Statistics]], settings: Settings
) -> dict[str, dict[str, float]]:
    """Scores of each group as one test set; statistics add up even for different tokenizers."""
    result: dict[str, dict[str, float]] = {}
    for group, members in settings.groups.items():
        for key in settings.metrics:
            parts = [table[d][key] for d in members if d in table and key in table[d]]
            if parts:
                result.setdefault(group, {})[key] = pooled(parts).score()
    return result


def _correlations(rows: Sequence[DirectionScores], groups: Groups) -> dict[str, float]:
    """Pearson's correlation of language accuracy and BLEU over the directions of each group."""
    result = {}
    for group, members in groups.items():
        both = [r.scores for r in rows if r.direction in members and {"off", "bleu"} <= {*r.scores}]
        correlation = pearson(
            [100 - scores["off"] for scores in both], [scores["bleu"] for scores in both]
        )
        if correlation is not None:
            result[group] = correlation
    return result


def _comparisons(
    table: Table,
    metrics: Sequence[str],
    settings: Settings,
    parallel: frozenset[str],
    say: Say,
) -> list[Comparison]:
    result = []
    for name in table:
        for metric in metrics:
            system_statistics, baseline_statistics = (
                {d: stats[metric] for d, stats in table[system].items() if metric in stats}
                for system in (name, settings.baseline)
            )
            if (
                name == settings.baseline
                or not system_statistics.keys() & baseline_statistics.keys()
            ):
                continue
            names = (name, settings.baseline, metric)
            if not settings.samples:
                ratios = win_ratios(metric, system_statistics, baseline_statistics, settings.groups)
                result.append(Comparison(*names, directions={}, groups={}, win_ratio=ratios))
                continue
            say(f"{name} against {settings.baseline}: {METRICS[metric].name}")
            result.append(
                compare(
                    *(*names, system_statistics, baseline_statistics, settings.groups),
                    samples=settings.samples,
                    seed=settings.seed,
                    skip_zeros=settings.skip_zeros,
                    parallel=parallel,
                )
            )
    return result


def _examples(
    systems: Sequence[SystemTexts], directions: Sequence[str], table: Table, settings: Settings
) -> list[Example]:
    """Sentences on which the systems differ most, and random ones, for each direction."""
    result: list[Example] = []
    for direction in directions:
        here = [system for system in systems if direction in system.texts]
        if not settings.examples or "chrf" not in settings.plan.metrics or not here:
            continue
        scores: dict[str, np.ndarray] = {
            system.name: sentence_scores(table[system.name][direction]["chrf"]) for system in here
        }
        texts = {system.name: system.texts[direction] for system in here}
        first = texts[here[0].name]
        hypotheses = {name: system_texts.hypotheses for name, system_texts in texts.items()}
        result += pick(
            *(direction, first.sources, first.references, hypotheses, scores),
            count=settings.examples,
            seed=settings.seed,
        )
    return result
