"""Feed-forward networks for each target language (ours).

Shapes: K languages, (...) tokens, D model width, I inner width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.grouped_linear import PerLanguage, grouped
from tdo_plugin.modules.layer import FeedForward
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class ExpertLinear(PerLanguage, Linear):
    """W_t x + b_t for target language t; the weights of languages are drawn independently.

    Args:
        num_languages: K.
        in_features: D.
        out_features: E.
    """

    def __init__(self, num_languages: int, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features)
        experts = [Linear(in_features, out_features) for _ in range(num_languages)]
        self.weight = nn.Parameter(torch.stack([expert.weight.detach() for expert in experts]))
        assert self.bias is not None
        self.bias = nn.Parameter(torch.stack([expert.bias.detach() for expert in experts]))

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., E); the language of each token is broadcastable to (...).

        Raises:
            ValueError: the context has no target languages.
        """
        if context.target is None:
            raise ValueError("FFN experts need the language of every sentence")
        projected = grouped(x, context.rows("target"), F.linear, self.weight, self.bias)
        return self.through_output(projected, context)

    def pack(self) -> None:
        """Does nothing: a decoding step may use the weight of any language."""


class ExpertFeedForward(FeedForward):
    """W2_t ReLU(W1_t x + b1_t) + b2_t for target language t, on source and target tokens.

    Args:
        num_languages: K.
        model_dim: D.
        inner_dim: I.
        activation_dropout: after the ReLU.
    """

    def __init__(
        self, num_languages: int, model_dim: int, inner_dim: int, activation_dropout: nn.Module
    ) -> None:
        super().__init__(model_dim, inner_dim, activation_dropout)
        self.inner = ExpertLinear(num_languages, model_dim, inner_dim)
        self.outer = ExpertLinear(num_languages, inner_dim, model_dim)
