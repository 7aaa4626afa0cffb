"""Modules applied to the outputs of projections: a place for hooks, or neuron gates per pair.

Shapes: P pairs, W neurons of a projection, (...) positions.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class NeuronOutput(nn.Module):
    """The identity: a place for hooks on single neurons."""

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., W), unchanged."""
        return x


class NeuronGate(NeuronOutput):
    """Zeroes neurons outside the mask of a sentence's pair, and their gradients (Xie et al., 2021).

    Args:
        masks: boolean (P, W), true where a pair uses a neuron.
    """

    masks: Tensor

    def __init__(self, masks: Tensor) -> None:
        super().__init__()
        # as numbers to multiply by; checkpoints hold the masks of all gates in one buffer of the
        # model
        numbers = masks.to(torch.get_default_dtype())
        self.register_buffer("masks", numbers, persistent=False)

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., W) to (..., W); the context of the tokens is broadcastable to (...).

        Raises:
            ValueError: the context has no rows of masks.
        """
        if context.neurons is None:
            raise ValueError("neuron masks need both languages of every sentence")
        masks = self.masks.to(x.dtype)
        gated: Tensor = _Gated.apply(x, masks, context.neurons)  # type: ignore[no-untyped-call]
        return gated

    def take(self, masks: Tensor) -> None:
        """Use these masks (P, W) from now on."""
        self.masks = masks.to(self.masks)

    def extend(self, mask: Tensor) -> None:
        """Append one row (W,)."""
        self.masks = torch.cat([self.masks, mask[None].to(self.masks)])


class _Gated(torch.autograd.Function):
    """x times the masks of its rows; the expanded masks are not kept for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, masks: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(masks, rows)
        return x * _spread(masks, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        masks, rows = ctx.saved_tensors
        return gradient * _spread(masks, rows), None, None


def _spread(masks: Tensor, rows: Tensor) -> Tensor:
    """The masks of rows (...) as (..., W)."""
    return masks.index_select(0, rows.flatten()).view(*rows.shape, -1)
