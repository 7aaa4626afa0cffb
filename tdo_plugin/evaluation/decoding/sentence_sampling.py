"""Sampling whose random numbers belong to sentences, whatever batches they come in.

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
        dictionary: the target's.
        topk: draw from so many of the likeliest tokens; -1: from all.
        key: what makes these draws others than those of another key.
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
        """Scores, tokens and the beams that they follow, (B, K) each.

        Args:
            step: from 0.
            lprobs: log-probabilities (B, K, V), of which the first step has the same for each beam.
            scores: so far, (B, K, steps).
            prev_output_tokens: not looked at.
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
        """Where random numbers fall among the probabilities, (B, K, 1)."""
        uniform = np.stack(
            [
                np.random.default_rng([*self._key, sentence, step]).random(lprobs.size(1))
                for sentence in sentences
            ]
        )
        below = lprobs.double().exp().cumsum(-1)
        total = below[..., -1:].contiguous()
        at = torch.from_numpy(uniform).to(below)[..., None] * total
        # rounding may let one fall on the total, behind the last token that has a probability
        last = torch.searchsorted(below, total)
        return torch.searchsorted(below, at, right=True).minimum(last)
