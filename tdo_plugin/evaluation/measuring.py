"""Text metrics and language identification of one system on one direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tdo_plugin.evaluation.outputs import Texts
from tdo_plugin.metrics.language_id import Identifier, Shares, shares
from tdo_plugin.metrics.sacrebleu_scores import text_metric
from tdo_plugin.metrics.statistics import Statistics, mean_of_segments
from tdo_plugin.runtime.jobs import map_spawned

TEXT_METRICS = ("bleu", "chrf", "ter")


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        metrics: keys of text metrics.
        tokenizer: see `metrics.sacrebleu_scores.text_metric`.
        lowercase: whether to ignore case.
        english: the code of English in the corpus.
        detector: the language detector, or None.
    """

    metrics: tuple[str, ...]
    tokenizer: str
    lowercase: bool
    english: str
    detector: Identifier | None


@dataclass(frozen=True)
class Measured:
    """Measurements of one system on one direction.

    Attributes:
        statistics: statistics by metric, including `off` if the detector supports the target.
        signatures: signatures by metric.
        shares: language shares, or None.
    """

    statistics: dict[str, Statistics]
    signatures: dict[str, str]
    shares: Shares | None


def measure_all(plan: Plan, texts: Sequence[Texts], workers: int) -> Iterator[Measured]:
    """Measure texts, in order.

    Args:
        plan: what to measure.
        texts: the texts of every system and direction.
        workers: number of processes; 1 is this process.

    Raises:
        UserError: a tokenizer is not available.
    """
    if min(workers, len(texts)) <= 1:
        for direction_texts in texts:
            yield measure(plan, direction_texts)
        return
    for counts in map_spawned(_measure_here, texts, workers, _begin, plan):
        yield _with_corpus(plan, *counts)


def measure(plan: Plan, texts: Texts) -> Measured:
    """Measure one system on one direction."""
    source, target = texts.direction.split("-")
    statistics: dict[str, Statistics] = {}
    signatures: dict[str, str] = {}
    for key in plan.metrics:
        metric = text_metric(key, target, plan.tokenizer, plan.lowercase)
        statistics[key] = metric.statistics(texts.hypotheses, texts.references)
        signatures[key] = metric.signature
    language_shares, detector = None, plan.detector
    if detector is not None:
        languages = detector.identify(texts.hypotheses)
        language_shares = shares(languages, source, target, detector, plan.english)
        signatures["off"] = detector.signature
        if language_shares is not None:
            label = detector.label(target)
            statistics["off"] = mean_of_segments(
                np.array([100.0 * (language != label) for language in languages])
            )
    return Measured(statistics, signatures, language_shares)


_plan: Plan | None = None  # kept by worker processes between directions


def _begin(plan: Plan) -> None:
    global _plan
    _plan = plan


def _measure_here(
    texts: Texts,
) -> tuple[str, dict[str, np.ndarray], dict[str, str], Shares | None]:
    """A measurement without functions, which cannot be sent between processes."""
    assert _plan is not None
    result = measure(_plan, texts)
    rows = {key: statistic.rows for key, statistic in result.statistics.items()}
    return texts.direction, rows, result.signatures, result.shares


def _with_corpus(
    plan: Plan,
    direction: str,
    rows: dict[str, np.ndarray],
    signatures: dict[str, str],
    language_shares: Shares | None,
) -> Measured:
    target = direction.split("-")[1]
    statistics = {}
    for key, counts in rows.items():
        if key in plan.metrics:
            metric = text_metric(key, target, plan.tokenizer, plan.lowercase)
            statistics[key] = Statistics(counts, metric.corpus)
        else:
            statistics[key] = mean_of_segments(counts[:, 0])
    return Measured(statistics, signatures, language_shares)
