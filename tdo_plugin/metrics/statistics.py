"""Additive sentence statistics, for corpus scores, resampling and pooling of every metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Statistics:
    """A metric's statistics of a test set.

    Attributes:
        rows: (sentences, counts): for BLEU n-gram matches and lengths, or a segment's score and 1.
        corpus: computes the score (0 to 100) of some sentences from the sum of rows (counts,).
    """

    rows: np.ndarray
    corpus: Callable[[np.ndarray], float]

    def score(self) -> float:
        """The score of all sentences as one test set."""
        return self.corpus(self.rows.sum(axis=0))


def pooled(parts: Iterable[Statistics]) -> Statistics:
    """The statistics of several test sets as one."""
    sets = list(parts)
    return Statistics(np.concatenate([test_set.rows for test_set in sets]), sets[0].corpus)


def mean_of_segments(scores: np.ndarray) -> Statistics:
    """Statistics of a metric that is the mean of segment scores (sentences,)."""
    rows = np.stack([scores, np.ones_like(scores)], axis=1).astype(np.float64)
    return Statistics(rows, lambda total: float(total[0] / total[1]))
