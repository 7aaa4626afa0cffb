"""The position-wise feed-forward network."""

import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class FeedForward(nn.Module):
    """W2 ReLU(W1 x + b1) + b2 (Vaswani et al., 2017, equation 2), torch's linear start.

    Args:
        model_dim: D.
        inner_dim: the inner size.
        activation_dropout: after the ReLU.
    """

    def __init__(self, model_dim: int, inner_dim: int, activation_dropout: PlainDropout) -> None:
        super().__init__()
        self.inner = Linear(model_dim, inner_dim)
        self.outer = Linear(inner_dim, model_dim)
        self.activation_dropout = activation_dropout

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D), given the context of the tokens, broadcastable to (...)."""
        inner = F.relu(self.inner(x, context))
        outer: Tensor = self.outer(self.activation_dropout(inner), context)
        return outer
