"""What the outputs of projections pass: a place for hooks, or a gate for each pair of languages.

Shapes: P pairs, W neurons of a projection, (...) positions.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class NeuronOutput(nn.Module):
    """Changes nothing: a place for hooks on single neurons."""

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., W) as they are, whatever the context."""
        return x


class NeuronGate(NeuronOutput):
    """Neurons outside a sentence's mask are zero, and so are their gradients (Xie et al., 2021).

    Args:
        masks: boolean (P, W), true where a row's pair uses a neuron.
    """

    masks: Tensor

    def __init__(self, masks: Tensor) -> None:
        super().__init__()
        # as numbers, ready to multiply with; the model has all gates' masks in one piece, which is
        # what checkpoints keep
        numbers = masks.to(torch.get_default_dtype())
        self.register_buffer("masks", numbers, persistent=False)

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., W) to (..., W), given the context of the tokens, broadcastable to (...).

        Raises:
            ValueError: the rows are not given.
        """
        if context.neurons is None:
            raise ValueError("masks of neurons need the languages of every sentence")
        masks = self.masks.to(x.dtype)
        gated: Tensor = _Gated.apply(x, masks, context.neurons)  # type: ignore[no-untyped-call]
        return gated

    def take(self, masks: Tensor) -> None:
        """Go by these (P, W) from now on."""
        self.masks = masks.to(self.masks)

    def extend(self, mask: Tensor) -> None:
        """One row (W,) more."""
        self.masks = torch.cat([self.masks, mask[None].to(self.masks)])


class _Gated(torch.autograd.Function):
    """x times the masks of its rows; the masks of all positions do not wait for the backward."""

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
    """The masks of rows (...), (..., W)."""
    return masks.index_select(0, rows.flatten()).view(*rows.shape, -1)
