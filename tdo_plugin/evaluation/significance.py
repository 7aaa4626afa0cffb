"""Paired bootstrap resampling (Koehn, 2004) of two systems: by direction, and of group means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np

from tdo_plugin.evaluation.groups import win_ratio
from tdo_plugin.evaluation.score_sheet import METRICS, Comparison, Difference, mean, skips_zeros
from tdo_plugin.metrics.statistics import Statistics

ROUNDING = 1e-9  # points by which resamples of equal sentences may seem to differ
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
    """Compare a system with a baseline on every direction that both have, and on groups of them.

    A direction's p is that of `sacrebleu --paired-bs`, with the same resamples and formula, except
    that it is 1 where the difference is the same in all resamples, as it is between identical
    systems or on a single sentence: nothing is known of its spread then (SacreBLEU's p is
    1 / (samples + 1)). The formula is in effect one-sided: p may be under 0.05 where the 95 %
    interval of the difference still holds 0.

    A group is tested in the same way on the mean over its directions, each direction's test set
    resampled on its own. Where test sets are translations of each other (`parallel`), their scores
    vary together; they are resampled together, the same sentences from each.

    Args:
        system: name.
        baseline: name.
        metric: key of `METRICS`.
        system_statistics: the system's statistics by direction.
        baseline_statistics: the baseline's.
        groups: directions by group; a group without a shared direction is left out.
        samples: number of resamples.
        seed: SacreBLEU's is 12345.
        skip_zeros: means leave out scores of exactly 0, unless 0 is the best.
        parallel: directions whose test sets hold the same sentences.

    Raises:
        ValueError: a direction has different numbers of sentences in the two.
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
    """By group, percent of the directions that both have on which a system beats the baseline."""
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
        ValueError: different numbers of sentences.
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
        # exact for whole numbers, whatever the order of the sums: doubles hold them up to 2**53
        for total in times[start : start + BLOCK] @ rows:
            scores.append(
                (system_statistics.corpus(total[:width]), baseline_statistics.corpus(total[width:]))
            )
    transposed: np.ndarray = np.array(scores).T
    return transposed


@lru_cache(maxsize=2)
def _times(sentences: int, samples: int, seed: int) -> np.ndarray:
    """How often each resample holds each sentence, (samples, sentences).

    Test sets of one size have the same resamples, as in SacreBLEU, so the last are kept.
    """
    generator = np.random.default_rng(seed)
    times = np.empty((samples, sentences), dtype=np.int32)
    for row in times:
        row[:] = np.bincount(generator.choice(sentences, size=sentences), minlength=sentences)
    return times


def _shuffle(scores: np.ndarray, direction: str, seed: int) -> np.ndarray:
    # test sets of one size share their resamples; in an order of its own, by its name, each
    # direction's are independent of the others' and of which others there are
    generator = np.random.default_rng([seed, *direction.encode()])
    shuffled: np.ndarray = scores[:, generator.permutation(scores.shape[1])]
    return shuffled


def _means(scores: np.ndarray, skip_zeros: bool) -> np.ndarray:
    """`scores.mean` of every resample: (directions, 2, samples) to (2, samples)."""
    counted = np.count_nonzero(scores, axis=0) if skip_zeros else len(scores)
    means: np.ndarray = scores.sum(axis=0) / np.maximum(counted, 1)
    return means


def _difference(system: float, baseline: float, scores: np.ndarray) -> Difference:
    """The test's result from both scores and their resamples, (2, samples)."""
    from sacrebleu.significance import _compute_p_value

    differences = scores[0] - scores[1]
    sizes = np.abs(differences)
    ordered = np.sort(differences)
    cut = len(ordered) // 40  # 2.5 % on either side
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
