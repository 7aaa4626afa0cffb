"""The likeliest tokens at each step of a translation.

Shapes: T target, V vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Step(NamedTuple):
    """One step of a translation.

    Attributes:
        probability: of the chosen token.
        rank: of the chosen token, from 1.
        top: the likeliest tokens and their probabilities, best first.
    """

    probability: float
    rank: int
    top: tuple[tuple[int, float], ...]


def steps_of(logits: Tensor, chosen: Tensor, count: int) -> list[Step]:
    """The candidates at each step.

    Args:
        logits: (T, V).
        chosen: the translation's token ids, (T,).
        count: number of candidates.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    probabilities = logits.to(wide).softmax(-1)
    of_chosen = probabilities.gather(1, chosen[:, None])
    ranks = (probabilities > of_chosen).sum(1) + 1
    top = probabilities.topk(min(count, probabilities.size(1)), 1)
    rows = zip(
        of_chosen[:, 0].tolist(),
        ranks.tolist(),
        top.indices.tolist(),
        top.values.tolist(),
        strict=True,
    )
    return [
        Step(probability, rank, tuple(zip(ids, values, strict=True)))
        for probability, rank, ids, values in rows
    ]
