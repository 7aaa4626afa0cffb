"""Empty sources for sentences without a source."""

from __future__ import annotations

import numpy as np
import torch
from fairseq.data import FairseqDataset
from torch import Tensor


class NoSource(FairseqDataset):
    """A data set of empty sentences, without even an end symbol.

    Attributes:
        sizes: (sentences,) zeros.
    """

    def __init__(self, sentences: int) -> None:
        super().__init__()
        self.sizes = np.broadcast_to(np.int32(0), sentences)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> Tensor:
        """(0,) int64."""
        return torch.empty(0, dtype=torch.int64)

    def prefetch(self, indices: object) -> None:
        """Does nothing."""
