"""Sampling with random numbers per sentence, independent of the batches.

Shapes: B sentences, K beams, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.search import Sampling
from torch import Tensor


class SentenceSampling(Sampling):  # type: ignore[misc]
    """fairseq's sampling with a random number for each key, sentence, step and beam.

    Args:
        dictionary: the target dictionary.
        topk: sample from this number of most likely tokens; -1: from all.
        key: seed of the random numbers.
    """

    def __init__(self, dictionary: Any, topk: int, key: Sequence[int]) -> None:
        super().__init__(dictionary, topk)
        self._key = key

    def step(
        self,
        step: int,
        lprobs: Tensor,
        scores: Tensor,
        prev_output_tokens: Tensor | None = None,
        original_batch_idxs: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Sample one token per beam: scores, tokens and the beams they extend, (B, K) each.

        Args:
            step: the step, from 0.
            lprobs: log-probabilities (B, K, V), equal for all beams in the first step.
            scores: previous scores (B, K, steps).
            prev_output_tokens: unused.
            original_batch_idxs: the sentences' numbers, (B,).
        """
        assert original_batch_idxs is not None
        sentences, beams, vocabulary = lprobs.size()
        if step == 0:
            lprobs = lprobs[:, :1].expand(-1, beams, -1)
        tokens = None
        if self.sampling_topk > 0:
            lprobs, tokens = lprobs.topk(min(self.sampling_topk, vocabulary))
        chosen = self._drawn(lprobs, original_batch_idxs.tolist(), step)
        chosen_scores = lprobs.gather(-1, chosen)[..., 0]
        chosen = (chosen if tokens is None else tokens.gather(-1, chosen))[..., 0]
        if step:
            chosen_scores = chosen_scores + scores[:, :, step - 1]
        return chosen_scores, chosen, torch.arange(beams, device=chosen.device).repeat(sentences, 1)

    def _drawn(self, lprobs: Tensor, sentences: Sequence[int], step: int) -> Tensor:
        """Indices drawn by inverse transform sampling, (B, K, 1)."""
        uniform = np.stack(
            [
                np.random.default_rng([*self._key, sentence, step]).random(lprobs.size(1))
                for sentence in sentences
            ]
        )
        below = lprobs.double().exp().cumsum(-1)
        total = below[..., -1:].contiguous()
        at = torch.from_numpy(uniform).to(below)[..., None] * total
        # rounding may yield the total, after the last token with non-zero probability
        last = torch.searchsorted(below, total)
        return torch.searchsorted(below, at, right=True).minimum(last)
