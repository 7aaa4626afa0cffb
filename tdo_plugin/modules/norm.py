"""Layer norm whose output need not wait for the backward pass.

A norm's output is read by a linear projection, which would keep it for the gradient of its
weights, beside the norm's input, which the norm keeps. The one can be made again of the other.
"""

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn


class Recipe(NamedTuple):
    """How a tensor was made.

    Attributes:
        source: the norm's input (..., D).
        weight: gain (D,).
        bias: (D,).
        eps: added to the variance.
        version: of the tensor when it was made; a later one was changed in place.
    """

    source: Tensor
    weight: Tensor
    bias: Tensor
    eps: float
    version: int

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """What it takes."""
        return self.source, self.weight, self.bias


class LayerNorm(nn.LayerNorm):
    """As ``nn.LayerNorm``; the output knows how it was made (see :func:`recipe_of`)."""

    def forward(self, x: Tensor) -> Tensor:
        normed = super().forward(x)
        if normed.requires_grad:
            recipe = Recipe(x.detach(), self.weight, self.bias, self.eps, normed._version)
            normed.recipe = recipe  # type: ignore[attr-defined]
        return normed


def recipe_of(x: Tensor) -> Recipe | None:
    """How ``x`` was made, where a :class:`LayerNorm` made it and nothing has changed it since."""
    recipe: Recipe | None = getattr(x, "recipe", None)
    return recipe if recipe is not None and recipe.version == x._version else None


def made_again(source: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """The same numbers once more."""
    return F.layer_norm(source, weight.shape, weight, bias, eps)
