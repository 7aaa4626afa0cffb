"""Dropout that can stay on during decoding and draws few random numbers on a CPU."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STEPS = 1 << 16  # a CPU mask uses 16 random bits per element


def _cpu_dropout(x: Tensor, rate: float) -> Tensor:
    """``F.dropout`` with the masks of four elements taken from each 64-bit draw.

    torch's CPU generator is sequential, and in a small model drawing takes a good part of a
    training step. The rate is rounded to a multiple of 2^-16 and the kept elements are scaled by
    the rounded rate, so that the expectation is exact up to the precision of x's type.
    """
    dropped = round(rate * STEPS)
    if dropped == STEPS:
        return x * 0
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device).random_(
        -(1 << 63), None
    )
    bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
    kept = bits.ge(dropped - STEPS // 2)
    # only the mask, one byte per element, is kept for the backward pass
    return (x * kept).mul_(STEPS / (STEPS - dropped))


class PlainDropout(nn.Module):
    """``nn.Dropout`` that can stay on in evaluation mode.

    Args:
        rate: probability of dropping an element.

    Attributes:
        retained: whether dropout is also applied in evaluation mode.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.retained = False

    @property
    def active_rate(self) -> float:
        """The rate that currently applies."""
        return self.rate if self.training or self.retained else 0.0

    def forward(self, x: Tensor) -> Tensor:
        rate = self.active_rate
        return F.dropout(x, rate, True) if rate else x


class Dropout(PlainDropout):
    """Dropout with few draws and small masks on a CPU; its masks differ from torch's."""

    def forward(self, x: Tensor) -> Tensor:
        rate = self.active_rate
        return _cpu_dropout(x, rate) if rate and x.device.type == "cpu" else super().forward(x)
