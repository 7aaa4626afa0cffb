"""What a search of Hugging Face transformers keeps of targets, and the tokens that it must choose.

Shapes: B sentences, R = B * beams rows, T target, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LogitsProcessor

from tdo_plugin.modules.target_store import TargetStore


class TdoCache:
    """The target so far: its tokens, and what the layers keep of them.

    Args:
        store: of the model's layers.
    """

    def __init__(self, store: TargetStore) -> None:
        self.store = store
        self.tokens: Tensor | None = None  # (R, T)

    def append(self, tokens: Tensor) -> Tensor:
        """All tokens of the target, given the new ones (R, T)."""
        self.tokens = tokens if self.tokens is None else torch.cat([self.tokens, tokens], 1)
        return self.tokens

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """The number of target positions so far."""
        return self.store.length

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Keep these rows (R,), in this order; each sentence's from rows of its own."""
        self.store.reorder(beam_idx)
        if self.tokens is not None:
            self.tokens = self.tokens.index_select(0, beam_idx)


class ForcedToken(LogitsProcessor):
    """Forces a token at one position of each target; its log-probability counts.

    It counts as 0 if the token was excluded, as an end symbol before the minimum length.

    Args:
        tokens: the token ids (B,), or (1,) for all sentences.
        position: from 0.
    """

    def __init__(self, tokens: Tensor, position: int) -> None:
        self.tokens, self.position = tokens, position

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (R, V) of the next token of targets (R, T)."""
        if input_ids.size(1) != self.position:
            return scores
        tokens = self.tokens.to(scores.device).repeat_interleave(len(scores) // len(self.tokens))
        forced, others = tokens[:, None], torch.full_like(scores, -torch.inf)
        own = scores.gather(1, forced)
        return others.scatter(1, forced, own.masked_fill(own.isneginf(), 0.0))
