"""A linear transformation of the source for each target language.

Shapes: K languages, N positions, D model width.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tdo_plugin.modules.grouped_linear import PerLanguage, grouped
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


def _identity(weight: Tensor) -> None:
    nn.init.zeros_(weight)
    for matrix in weight:
        matrix.fill_diagonal_(1)


def _xavier(weight: Tensor) -> None:
    for matrix in weight:
        nn.init.xavier_uniform_(matrix)


def _authors(weight: Tensor) -> None:
    """Xavier-uniform for one matrix (K, D * D), as in the authors' code: a far smaller limit."""
    limit = math.sqrt(6 / (len(weight) + weight[0].numel()))
    nn.init.uniform_(weight, -limit, limit)


INITIALIZERS: dict[str, Callable[[Tensor], None]] = {
    "identity": _identity,
    "xavier": _xavier,
    "authors": _authors,
}


class LanguageTransformation(PerLanguage):
    """h W_t for target language t, without bias (LALT; Zhang et al., 2020, equation 5).

    Args:
        num_languages: K.
        model_dim: D.
        start: name of the matrices' initialisation.
    """

    replaces_plain = False

    def __init__(self, num_languages: int, model_dim: int, start: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_languages, model_dim, model_dim))
        with torch.no_grad():
            INITIALIZERS[start](self.weight)

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D); the language of each position is broadcastable to (...).

        Raises:
            ValueError: the context has no target languages.
        """
        if context.target is None:
            raise ValueError("a language-aware transformation needs the language of every sentence")
        return grouped(x, context.rows("target"), torch.matmul, self.weight)
