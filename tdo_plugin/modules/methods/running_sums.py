"""Sums over the target so far: the decoding state of merged attention.

Shapes: B sentences, K rows (beams) of a sentence, R = B * K, D model width, T new target positions,
P target positions so far.
"""

import torch
from torch import Tensor

from tdo_plugin.modules.masks import TargetMask
from tdo_plugin.modules.target_store import TargetStore


class RunningSums(TargetStore):
    """One buffer (layers, B, K, D), in at least single precision, however long the target is."""

    def __init__(self, num_layers: int, beams: int = 1) -> None:
        super().__init__(num_layers, beams)
        self._sums: Tensor | None = None
        self._sentences = 0  # B

    def begin(self, mask: TargetMask) -> TargetMask:
        new, self.length = mask.target.shape[2:]
        self._sentences = mask.source.size(0)
        self._hidden = mask.padding[:, self.length - new :, None]  # (R or B, T, 1)
        self._counts = mask.target[:, 0].sum(-1, keepdim=True)  # (R or B, T, 1), tokens in a mean
        return mask

    def mean(self, layer: int, new: Tensor) -> Tensor:
        wide = torch.promote_types(new.dtype, torch.float32)
        if self._sums is None:
            shape = self._num_layers, self._sentences, self._beams, new.size(-1)
            self._sums = new.new_zeros(shape, dtype=wide)
        present = self._sums[layer]
        alike = present[:, : len(new) // self._sentences]  # (B, K or 1, D)
        sums = new.masked_fill(self._hidden, 0).cumsum(1, dtype=wide)
        sums = sums + alike.reshape(len(new), 1, -1)
        present.copy_(sums[:, -1].view(alike.shape).expand_as(present))
        return (sums / self._counts).to(new.dtype)

    def reorder(self, rows: Tensor) -> None:
        if self._sums is not None:
            chosen = self._sums.flatten(1, 2).index_select(1, rows)
            self._sums = chosen.unflatten(1, (-1, self._beams))
