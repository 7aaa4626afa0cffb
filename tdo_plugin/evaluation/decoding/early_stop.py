"""Postponing sentences that decode much longer than the rest of their batch.

A batch takes as many steps as its longest hypothesis, and a model that repeats itself continues to
the length limit, in steps that cost nearly as much for one sentence as for twenty. So a search
first stops when translations are much longer than their sources. Sentences that are finished by
then have the same result as without the stop; the others are decoded again from the start, up to
the true limit, in separate batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

RATIO = 1.5  # target tokens per source token
ROOM = 5  # additional target tokens
MOST = 4  # if more than 1 in this many sentences is postponed, the ratio is doubled

Ranked = Sequence[dict[str, Any]]


class EarlyStop:
    """An early stop of fairseq's generator, before its length limit.

    Args:
        generator: fairseq's `SequenceGenerator`, for a deterministic search.
        ratio: target tokens per source token at the stop.
    """

    def __init__(self, generator: Any, ratio: float = RATIO) -> None:
        self._generator = generator
        self._ratio = ratio

    @classmethod
    def never(cls, generator: Any) -> EarlyStop:
        """No early stop, only the true limit."""
        return cls(generator, math.inf)

    def search(
        self, source_length: int, run: Callable[[], Sequence[Ranked]]
    ) -> tuple[Sequence[Ranked], list[bool]]:
        """Run the generator on a batch.

        Args:
            source_length: length of the batch's longest source, in tokens.
            run: runs the generator.

        Returns:
            Each sentence's hypotheses, and whether they are invalid because of the early stop.
        """
        generator = self._generator
        limit = generator.max_len
        true = min(int(generator.max_len_a * source_length + generator.max_len_b), limit - 1)
        last = max(self._ratio * source_length + ROOM, generator.min_len)
        if last >= true:
            batch = run()
            return batch, [False] * len(batch)
        generator.max_len = int(last) + 1
        try:
            batch = run()
        finally:
            generator.max_len = limit
        stopped = [self._is_stopped(ranked, int(last)) for ranked in batch]
        if sum(stopped) * MOST > len(batch):
            self._ratio *= 2
        return batch, stopped

    def _is_stopped(self, ranked: Ranked, last: int) -> bool:
        """Whether fewer hypotheses than the beam size have ended by themselves.

        At the last step, fairseq ends all unfinished hypotheses with one more token.
        """
        longest = max((len(hypothesis["tokens"]) for hypothesis in ranked), default=0)
        return len(ranked) < self._generator.beam_size or longest > last
