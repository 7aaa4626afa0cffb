"""What a search of Hugging Face transformers keeps of targets.

Shapes: B sentences, R = B * beams rows, T target.
"""

from __future__ import annotations

import torch
from torch import Tensor

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
