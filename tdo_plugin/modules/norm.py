"""Layer norms: one for all languages, and one with a gain and a bias for each.

Shapes: K languages, D model width.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.languages import Languages
from tdo_plugin.modules.recipe import note


class LayerNorm(nn.LayerNorm):
    """As ``nn.LayerNorm``.

    Args:
        model_dim: D.
        remade: whether the output knows how it was made (see :mod:`.recipe`), so that it need not
            wait for the backward pass.
    """

    def __init__(self, model_dim: int, remade: bool = True) -> None:
        super().__init__(model_dim)
        self.remade = remade

    def forward(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """(..., D) to (..., D); languages make no difference."""
        return self._made(partial(_normed, self.eps), x, self.weight, self.bias)

    def _made(self, make: Callable[..., Tensor], *ingredients: Tensor) -> Tensor:
        made = make(*ingredients)
        return note(made, make, *ingredients) if self.remade else made


class LanguageNorm(LayerNorm):
    """Language-aware layer norm (LALN; Zhang et al., 2020, equation 4): a row for each language.

    Starts as a plain norm.

    Args:
        model_dim: D.
        rows: K, or one more where some positions are of no language; theirs is the last.
        remade: as in a plain norm.
    """

    def __init__(self, model_dim: int, rows: int, remade: bool = True) -> None:
        super().__init__(model_dim, remade)
        self.weight = nn.Parameter(torch.ones(rows, model_dim))
        self.bias = nn.Parameter(torch.zeros(rows, model_dim))

    def forward(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """(..., D) to (..., D), given the row of each position, broadcastable to (...).

        Raises:
            ValueError: the languages are not given.
        """
        if languages is None or languages.norm is None:
            raise ValueError("a language-aware norm needs the language of every sentence")
        make = partial(_language_normed, self.eps)
        return self._made(make, x, self.weight, self.bias, languages.norm)


def _normed(eps: float, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def _language_normed(eps: float, x: Tensor, weight: Tensor, bias: Tensor, rows: Tensor) -> Tensor:
    normed = F.layer_norm(x, weight.shape[-1:], eps=eps)
    gains, biases = F.embedding(rows, weight), F.embedding(rows, bias)
    return torch.addcmul(biases.to(normed), normed, gains.to(normed))
