"""Linear projections that keep little for the backward pass, and weights laid out for decoding.

A step of decoding has few rows, so that a matrix product spends much of its time on bringing the
weight into the order that its kernel wants. A weight that no longer changes is brought into it
once.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tdo_plugin.modules.recipe import Recipe, recipe_of

Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


class _LeanLinear(torch.autograd.Function):
    """``F.linear`` with the rows of one or several weights.

    Neither the packed weights wait for the backward pass nor an input that can be made again.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, recipe: Recipe | None, bias: Tensor | None, *weights: Tensor
    ) -> Tensor:
        ctx.make = None if recipe is None else recipe.make
        kept = (x,) if recipe is None else recipe.ingredients
        ctx.save_for_backward(*kept, *weights)
        ctx.kept = len(kept)
        return F.linear(x, _stacked(weights), bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        kept, weights = ctx.saved_tensors[: ctx.kept], ctx.saved_tensors[ctx.kept :]
        needs_x, _, needs_bias, *needs_weights = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        to_weights: tuple[Tensor | None, ...] = (None,) * len(weights)
        if any(needs_weights):
            x = kept[0] if ctx.make is None else ctx.make(*kept)
            packed = rows.T @ x.flatten(0, -2)
            to_weights = packed.split([len(weight) for weight in weights])
        to_x = gradient @ _stacked(weights) if needs_x else None
        to_bias = rows.sum(0) if needs_bias else None
        return (to_x, None, to_bias, *to_weights)


def _stacked(weights: tuple[Tensor, ...]) -> Tensor:
    return weights[0] if len(weights) == 1 else torch.cat(weights)


def lean_linear(x: Tensor, bias: Tensor | None, *weights: Tensor) -> Tensor:
    """``F.linear`` of ``x`` (..., D) with weights one below the other.

    Keeps less for the backward pass than torch where ``x`` has a recipe or where there are several
    weights; elsewhere, and in a mixed-precision region, it is torch's.
    """
    recipe = recipe_of(x)
    lean = len(weights) > 1 or recipe is not None
    if not lean or torch.is_autocast_enabled(x.device.type):
        return F.linear(x, _stacked(weights), bias)
    result: Tensor = _LeanLinear.apply(x, recipe, bias, *weights)  # type: ignore[no-untyped-call]
    return result


def lean_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """:func:`lean_linear` with one weight."""
    return lean_linear(x, bias, weight)


def packed_product(weight: Tensor) -> Product:
    """``F.linear`` with this weight, from oneDNN's own layout of it where there is one.

    There is one for single precision on a CPU, if torch was built with oneDNN. It is not used
    where gradients are wanted, in a mixed-precision region, or when the weight is another one
    (moved, loaded, of a copied module).
    """
    single = weight.device.type == "cpu" and weight.dtype == torch.float32
    if not (single and torch.backends.mkldnn.is_available()):
        return lean_product
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
    known = weight.data_ptr(), weight._version

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        usual = torch.is_grad_enabled() or torch.is_autocast_enabled("cpu")
        if usual or x.dtype != torch.float32 or (weight.data_ptr(), weight._version) != known:
            return lean_product(x, weight, bias)
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
        return result

    return product


class Linear(nn.Linear):
    """As ``nn.Linear``, with less kept for the backward pass."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self._product: Product = lean_product

    def forward(self, x: Tensor) -> Tensor:
        return self._product(x, self.weight, self.bias)

    def pack(self) -> None:
        """Lay the weight out for decoding; of no use for a weight that changes afterwards."""
        self._product = packed_product(self.weight)

    def unpack(self) -> None:
        """Give the room of that free."""
        self._product = lean_product
