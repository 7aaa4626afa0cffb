"""Dropout that can stay on while a model decodes."""

import torch.nn.functional as F
from torch import Tensor, nn


class Dropout(nn.Module):
    """As ``nn.Dropout``; with ``retained`` set it also drops in evaluation.

    Args:
        rate: the share that is dropped.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.retained = False

    @property
    def active_rate(self) -> float:
        """The rate as it applies now."""
        return self.rate if self.training or self.retained else 0.0

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.active_rate, self.active_rate > 0)
