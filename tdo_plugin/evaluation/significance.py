"""Paired bootstrap resampling (Koehn, 2004) of two systems, by direction and for group means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np

from tdo_plugin.evaluation.groups import win_ratio
from tdo_plugin.evaluation.score_sheet import METRICS, Comparison, Difference, mean, skips_zeros
from tdo_plugin.metrics.statistics import Statistics

ROUNDING = 1e-9  # rounding error between resamples of equal sentences, in points
BLOCK = 100  # resamples in double precision at once


def compare(
    system: str,
    baseline: str,
    metric: str,
    system_statistics: Mapping[str, Statistics],
    baseline_statistics: Mapping[str, Statistics],
    groups: Mapping[str, Sequence[str]],
    samples: int = 1000,
    seed: int = 12345,
    skip_zeros: bool = False,
    parallel: Collection[str] = (),
) -> Comparison:
    """Compare a system with a baseline on common directions, and on groups of them.

    A direction's p is that of `sacrebleu --paired-bs`, with the same resamples and formula, except
    that it is 1 if the difference is the same in all resamples, as for identical systems or a
    single sentence: then nothing is known about its spread (SacreBLEU's p is 1 / (samples + 1)).
    The formula is effectively one-sided: p may be below 0.05 although the 95 % interval of the
    difference contains 0.

    A group is tested in the same way on the mean over its directions, with each direction's test
    set resampled independently. If test sets are translations of each other (`parallel`), their
    scores are correlated, and the same sentences are resampled from each.

    Args:
        system: the system's name.
        baseline: the baseline's name.
        metric: key of `METRICS`.
        system_statistics: the system's statistics by direction.
        baseline_statistics: the baseline's statistics by direction.
        groups: directions by group; groups without a common direction are omitted.
        samples: number of resamples.
        seed: seed of the resamples, 12345 in SacreBLEU.
        skip_zeros: whether means exclude scores of exactly 0, unless 0 is the best score.
        parallel: directions whose test sets have the same sentences.

    Raises:
        ValueError: the two have different numbers of sentences in a direction.
    """
    skip_zeros = skips_zeros(metric, skip_zeros)
    shared = [direction for direction in system_statistics if direction in baseline_statistics]
    scores = {
        row: (system_statistics[row].score(), baseline_statistics[row].score()) for row in shared
    }
    drawn = {
        row: resample(system_statistics[row], baseline_statistics[row], samples, seed)
        for row in shared
    }
    shuffled = {
        row: drawn[row] if row in parallel else _shuffle(drawn[row], row, seed) for row in shared
    }
    differences = {}
    for name, members in groups.items():
        rows = [row for row in members if row in scores]
        if not rows:
            continue
        system_scores, baseline_scores = ([scores[row][side] for row in rows] for side in (0, 1))
        differences[name] = _difference(
            mean(system_scores, skip_zeros) or 0.0,
            mean(baseline_scores, skip_zeros) or 0.0,
            _means(np.stack([shuffled[row] for row in rows]), skip_zeros),
        )
    return Comparison(
        system=system,
        baseline=baseline,
        metric=metric,
        directions={row: _difference(*scores[row], drawn[row]) for row in shared},
        groups=differences,
        win_ratio=_win_ratios(metric, scores, groups),
    )


def win_ratios(
    metric: str,
    system_statistics: Mapping[str, Statistics],
    baseline_statistics: Mapping[str, Statistics],
    groups: Mapping[str, Sequence[str]],
) -> dict[str, float]:
    """By group, percentage of common directions on which the system beats the baseline."""
    scores = {
        row: (system_statistics[row].score(), baseline_statistics[row].score())
        for row in system_statistics
        if row in baseline_statistics
    }
    return _win_ratios(metric, scores, groups)


def _win_ratios(
    metric: str, scores: Mapping[str, tuple[float, float]], groups: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    result = {}
    for name, members in groups.items():
        rows = [row for row in members if row in scores]
        if rows:
            system, baseline = ({row: scores[row][side] for row in rows} for side in (0, 1))
            result[name] = win_ratio(system, baseline, METRICS[metric].higher_is_better)
    return result


def resample(
    system_statistics: Statistics, baseline_statistics: Statistics, samples: int, seed: int
) -> np.ndarray:
    """Scores of both systems on the same resamples of a test set, (2, samples).

    Raises:
        ValueError: the numbers of sentences differ.
    """
    if len(system_statistics.rows) != len(baseline_statistics.rows):
        raise ValueError(
            f"{len(system_statistics.rows)} sentences against {len(baseline_statistics.rows)}"
        )
    width = system_statistics.rows.shape[1]
    rows = np.concatenate([system_statistics.rows, baseline_statistics.rows], axis=1).astype(
        np.float64
    )
    times = _times(len(rows), samples, seed)
    scores = []
    for start in range(0, samples, BLOCK):
        # exact for whole numbers up to 2**53, regardless of the order of summation
        for total in times[start : start + BLOCK] @ rows:
            scores.append(
                (system_statistics.corpus(total[:width]), baseline_statistics.corpus(total[width:]))
            )
    transposed: np.ndarray = np.array(scores).T
    return transposed


@lru_cache(maxsize=2)
def _times(sentences: int, samples: int, seed: int) -> np.ndarray:
    """The number of times each resample has each sentence, (samples, sentences).

    Test sets of the same size have the same resamples, as in SacreBLEU, so results are cached.
    """
    generator = np.random.default_rng(seed)
    times = np.empty((samples, sentences), dtype=np.int32)
    for row in times:
        row[:] = np.bincount(generator.choice(sentences, size=sentences), minlength=sentences)
    return times


def _shuffle(scores: np.ndarray, direction: str, seed: int) -> np.ndarray:
    # test sets of the same size share their resamples; a permutation by the direction's name makes
    # directions independent of each other, and reproducible for any set of directions
    generator = np.random.default_rng([seed, *direction.encode()])
    shuffled: np.ndarray = scores[:, generator.permutation(scores.shape[1])]
    return shuffled


def _means(scores: np.ndarray, skip_zeros: bool) -> np.ndarray:
    """The `mean` over directions of every resample: (directions, 2, samples) to (2, samples)."""
    counted = np.count_nonzero(scores, axis=0) if skip_zeros else len(scores)
    means: np.ndarray = scores.sum(axis=0) / np.maximum(counted, 1)
    return means


def _difference(system: float, baseline: float, scores: np.ndarray) -> Difference:
    """The result of the test from both scores and their resamples, (2, samples)."""
    from sacrebleu.significance import _compute_p_value

    differences = scores[0] - scores[1]
    sizes = np.abs(differences)
    ordered = np.sort(differences)
    cut = len(ordered) // 40  # 2.5 % on each side
    varies = ordered[-1] - ordered[0] > ROUNDING
    p = _compute_p_value(sizes - sizes.mean(), abs(system - baseline)) if varies else 1.0
    return Difference(
        system=system,
        baseline=baseline,
        difference=system - baseline,
        low=float(ordered[cut]),
        high=float(ordered[-1 - cut]),
        p=p,
    )
