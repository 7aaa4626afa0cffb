"""Dropout that can stay on while a model decodes, and that draws few random numbers on the CPU."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STEPS = 1 << 16  # a CPU mask takes 16 random bits an element


def _cpu_dropout(x: Tensor, rate: float) -> Tensor:
    """``F.dropout`` with four elements' masks cut from each 64-bit draw.

    torch's CPU generator draws one number after the other, and in a small model that is a good
    part of a training step. The rate is rounded to a multiple of 2^-16, and what is kept is scaled
    by that rate, so that the expectation is exact but for the rounding of x's type.
    """
    dropped = round(rate * STEPS)
    if dropped == STEPS:
        return x * 0
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device).random_(
        -(1 << 63), None
    )
    bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
    kept = bits.ge(dropped - STEPS // 2)
    # of a choice the mask alone, a byte an element, waits for the backward pass
    return (x * kept).mul_(STEPS / (STEPS - dropped))


class PlainDropout(nn.Module):
    """As ``nn.Dropout``, which can stay on.

    Args:
        rate: the share that is dropped.

    Attributes:
        retained: whether evaluation drops, too.
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
        rate = self.active_rate
        return F.dropout(x, rate, True) if rate else x


class Dropout(PlainDropout):
    """The same with few draws and small masks on a CPU; its random numbers are others."""

    def forward(self, x: Tensor) -> Tensor:
        rate = self.active_rate
        return _cpu_dropout(x, rate) if rate and x.device.type == "cpu" else super().forward(x)
