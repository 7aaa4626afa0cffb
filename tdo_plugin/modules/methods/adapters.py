"""Adapters: a small network for each language pair at the end of a layer.

Shapes: P pairs, D model width, I inner width, (...) positions.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.grouped_linear import PerLanguage, grouped
from tdo_plugin.modules.layer import Residual
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class PairAdapters(PerLanguage):
    """x + Up(ReLU(Down(LN(x)))) with parameters for each language pair (Bapna & Firat, 2019).

    ``down`` is initialised Xavier-uniform and ``up`` to zero, so that an adapter is the identity at
    first; Bapna and Firat require a near-identity start. Adding adapters does not change a model
    until they are trained.

    Args:
        num_pairs: P.
        model_dim: D.
        inner_dim: I.
    """

    rows_of = "pair"
    replaces_plain = False

    def __init__(self, num_pairs: int, model_dim: int, inner_dim: int) -> None:
        super().__init__()
        self.norm_weight = nn.Parameter(torch.ones(num_pairs, model_dim))
        self.norm_bias = nn.Parameter(torch.zeros(num_pairs, model_dim))
        self.down_weight = nn.Parameter(torch.empty(num_pairs, inner_dim, model_dim))
        self.down_bias = nn.Parameter(torch.zeros(num_pairs, inner_dim))
        self.up_weight = nn.Parameter(torch.zeros(num_pairs, model_dim, inner_dim))
        self.up_bias = nn.Parameter(torch.zeros(num_pairs, model_dim))
        with torch.no_grad():
            for matrix in self.down_weight:
                nn.init.xavier_uniform_(matrix)

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D); the context of the tokens is broadcastable to (...).

        Raises:
            ValueError: the context has no pairs.
        """
        if context.pair is None:
            raise ValueError("adapters need the language pair of every sentence")
        return grouped(x, context.rows("pair"), _adapted, *self.parameters())


def _adapted(
    x: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    down_weight: Tensor,
    down_bias: Tensor,
    up_weight: Tensor,
    up_bias: Tensor,
) -> Tensor:
    normed = F.layer_norm(x, norm_weight.shape, norm_weight, norm_bias)
    inner = F.relu(F.linear(normed, down_weight, down_bias))
    return x + F.linear(inner, up_weight, up_bias)


class AdaptedResidual(Residual):
    """A residual connection followed by adapters, for the last sublayer of a layer.

    Norm and dropout keep their names, so that parameters of a model without adapters fit.

    Args:
        residual: the residual connection of the sublayer.
        adapters: for each pair.
    """

    def __init__(self, residual: Residual, adapters: PairAdapters) -> None:
        super().__init__(residual.norm, residual.dropout)
        others = {name for name, _ in residual.named_children()} - {"norm", "dropout"}
        if others:
            raise ValueError(f"parts of the residual would not be registered: {', '.join(others)}")
        self.adapters = adapters
        self._residual = (residual,)  # a tuple, so that its parts are registered once, above

    def before(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        return self._residual[0].before(x, context)

    def after(self, x: Tensor, output: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        adapted: Tensor = self.adapters(self._residual[0].after(x, output, context), context)
        return adapted
