"""Example sentences: those that show differences between systems, and a random sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tdo_plugin.evaluation.score_sheet import Example
from tdo_plugin.metrics.statistics import Statistics


def sentence_scores(statistics: Statistics) -> np.ndarray:
    """The score of each sentence as a single-sentence test set, (sentences,)."""
    return np.array([statistics.corpus(row) for row in statistics.rows])


def pick(
    direction: str,
    sources: Sequence[str] | None,
    references: Sequence[str],
    hypotheses: Mapping[str, Sequence[str]],
    sentence_chrf: Mapping[str, np.ndarray],
    count: int,
    seed: int,
) -> list[Example]:
    """Up to `count` sentences on which the systems' chrF++ differs most, and as many at random.

    The largest spread comes first. For two systems, the first half are sentences where the second
    system is better, the other half sentences where it is worse; if one half is short, the other
    fills up. For a single system, they are the sentences with the lowest scores. Ties are in the
    order of the test set; sentences with equal scores of all systems are never chosen. The random
    sample is in the order of the test set.

    Args:
        direction: the direction, such as `de-fr`.
        sources: the source sentences, if known.
        references: one per sentence.
        hypotheses: hypotheses by system.
        sentence_chrf: each sentence's chrF++, (sentences,), by system.
        count: maximum number of examples of either kind.
        seed: seed of the random sample, which also depends on the direction.

    Returns:
        The examples, some possibly of both kinds; their `number` counts from 1, like the lines of a
        file.
    """
    scores = np.stack([sentence_chrf[name] for name in hypotheses])
    generator = np.random.default_rng([seed, *direction.encode()])
    sample = generator.choice(len(references), min(count, len(references)), replace=False)
    chosen = [(index, False) for index in _choose(scores, count)]
    chosen += [(int(index), True) for index in np.sort(sample)]
    return [
        Example(
            direction=direction,
            number=index + 1,
            source=None if sources is None else sources[index],
            reference=references[index],
            hypotheses={name: lines[index] for name, lines in hypotheses.items()},
            chrf={name: float(sentence_chrf[name][index]) for name in hypotheses},
            random=random,
        )
        for index, random in chosen
    ]


def _choose(scores: np.ndarray, count: int) -> list[int]:
    """Chosen sentence indices, from scores (systems, sentences)."""
    if len(scores) == 1:
        return [int(index) for index in np.argsort(scores[0], kind="stable")[:count]]
    spread = scores.max(axis=0) - scores.min(axis=0)
    ranked = [int(index) for index in np.argsort(-spread, kind="stable") if spread[index] > 0]
    if len(scores) > 2:
        return ranked[:count]
    better = [index for index in ranked if scores[1, index] > scores[0, index]]
    worse = [index for index in ranked if scores[1, index] < scores[0, index]]
    fewer = min(len(worse), count // 2)
    gains = better[: count - fewer]
    return gains + worse[: count - len(gains)]
