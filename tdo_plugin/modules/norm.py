"""The layer norm, whose output need not be kept for the backward pass."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.linear import recomputable
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class LayerNorm(nn.LayerNorm):
    """As ``nn.LayerNorm``.

    Args:
        model_dim: D.
        recompute: whether the backward pass computes the output again instead of keeping it.
    """

    def __init__(self, model_dim: int, recompute: bool = True) -> None:
        super().__init__(model_dim)
        self.recompute = recompute

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D), with model width D; languages make no difference."""
        return self._computed(partial(_normed, self.eps), x, self.weight, self.bias)

    def _computed(self, compute: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        return recomputable(compute, *inputs) if self.recompute else compute(*inputs)


def _normed(eps: float, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, bias, eps)
