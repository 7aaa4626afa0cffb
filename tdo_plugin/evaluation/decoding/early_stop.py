"""Sentences that run on long after the rest of their batch are put off and decoded together.

A batch takes as many steps as its longest hypothesis, and a model that repeats itself goes on to
the limit: steps that cost nearly as much for one sentence as for twenty. So a search first stops
where a translation is much longer than its source. What was done by then is what it would have
been without the stop; the rest is to be decoded again from the start, to the true limit, in
batches of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

RATIO = 1.5  # target tokens to a source token
ROOM = 5  # target tokens beyond that
MOST = 4  # where more than 1 in so many sentences is put off, later batches get twice the ratio

Ranked = Sequence[dict[str, Any]]


class EarlyStop:
    """A stop before the limit of fairseq's generator.

    Args:
        generator: fairseq's `SequenceGenerator`, for a search without chance.
        ratio: target tokens to a source token at the stop.
    """

    def __init__(self, generator: Any, ratio: float = RATIO) -> None:
        self._generator = generator
        self._ratio = ratio

    @classmethod
    def never(cls, generator: Any) -> EarlyStop:
        """The true limit."""
        return cls(generator, math.inf)

    def search(
        self, source_length: int, run: Callable[[], Sequence[Ranked]]
    ) -> tuple[Sequence[Ranked], list[bool]]:
        """Run the generator on a batch.

        Args:
            source_length: of the batch's longest source, in tokens.
            run: does it.

        Returns:
            Each sentence's hypotheses, and whether they are worth nothing, since it was stopped.
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
        """A sentence is done when as many hypotheses as the beam is wide have ended by themselves.

        At the last step fairseq ends whatever is left, with one token more.
        """
        longest = max((len(hypothesis["tokens"]) for hypothesis in ranked), default=0)
        return len(ranked) < self._generator.beam_size or longest > last
