"""Language-aware layer norm (LALN; OPUS-100 paper).

Shapes: K languages, D model width.
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.grouped_linear import PerLanguage
from tdo_plugin.modules.linear import LayerNorm
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class LanguageNorm(PerLanguage, LayerNorm):
    """Layer norm with gain and bias for each language (LALN; Zhang et al., 2020, equation 4).

    Initialised as a plain norm.

    Args:
        model_dim: D.
        rows: K, or K + 1 with an extra last row for positions that LALN leaves out.
        recompute: as in :class:`.LayerNorm`.
    """

    def __init__(self, model_dim: int, rows: int, recompute: bool = True) -> None:
        super().__init__(model_dim, recompute)
        self.weight = nn.Parameter(torch.ones(rows, model_dim))
        self.bias = nn.Parameter(torch.zeros(rows, model_dim))

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D); the context of the tokens is broadcastable to (...).

        Raises:
            ValueError: the context has no rows for norms.
        """
        if context.norm is None:
            raise ValueError("a language-aware norm needs the language of every sentence")
        normed = partial(_language_normed, self.eps)
        return self._computed(normed, x, self.weight, self.bias, context.norm)


def _language_normed(eps: float, x: Tensor, weight: Tensor, bias: Tensor, rows: Tensor) -> Tensor:
    normed = F.layer_norm(x, weight.shape[-1:], eps=eps)
    gains, biases = F.embedding(rows, weight), F.embedding(rows, bias)
    return torch.addcmul(biases.to(normed), normed, gains.to(normed))
