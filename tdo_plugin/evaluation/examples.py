"""Sentences that show where systems differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tdo_plugin.evaluation.score_sheet import Example
from tdo_plugin.metrics.statistics import Statistics


def sentence_scores(statistics: Statistics) -> np.ndarray:
    """The score of each sentence as a test set of its own, (sentences,)."""
    return np.array([statistics.corpus(row) for row in statistics.rows])


def pick(
    direction: str,
    sources: Sequence[str] | None,
    references: Sequence[str],
    hypotheses: Mapping[str, Sequence[str]],
    sentence_chrf: Mapping[str, np.ndarray],
    count: int,
) -> list[Example]:
    """Up to `count` sentences on which the systems' chrF++ differs most, largest spread first.

    Of two systems, half of them are sentences where the second is better than the first, and come
    first; the other half are those where it is worse. If one half is short, the other fills up. Of
    one system it is the sentences with the lowest scores. Equal ones come in the order of the test
    set; sentences that the systems translate alike never come.

    Args:
        direction: `de-fr`.
        sources: the source sentences, if they are known.
        references: one a sentence.
        hypotheses: by system.
        sentence_chrf: by system, each sentence's chrF++, (sentences,).
        count: how many.

    Returns:
        The examples; their `number` counts from 1, like the lines of a file.
    """
    scores = np.stack([sentence_chrf[name] for name in hypotheses])
    return [
        Example(
            direction=direction,
            number=index + 1,
            source=None if sources is None else sources[index],
            reference=references[index],
            hypotheses={name: lines[index] for name, lines in hypotheses.items()},
            chrf={name: float(sentence_chrf[name][index]) for name in hypotheses},
        )
        for index in _choose(scores, count)
    ]


def _choose(scores: np.ndarray, count: int) -> list[int]:
    """Sentence numbers from 0, of scores (systems, sentences)."""
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
