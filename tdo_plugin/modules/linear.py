"""Linear projections and norms that keep little for the backward pass, and weights for decoding.

Shapes: (...) tokens, D and E widths.

Selective recomputation: a linear projection keeps its input for the gradient of its weights. Where
the input is marked as recomputable (a norm's output, a concatenation), what it was made from is
kept instead, which other operations keep anyway.

A step of decoding has few rows, so that a matrix product spends much of its time on bringing the
weight into the order that its kernel wants. A weight that no longer changes is brought into it
once.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class Recompute(NamedTuple):
    """How a tensor is computed again.

    Attributes:
        compute: gives the same numbers once more, from the inputs.
        inputs: detached.
        version: of the tensor when it was marked; a later one was changed in place.
    """

    compute: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]
    version: int


def recomputable(output: Tensor, compute: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """``output``, which is ``compute(*inputs)``, marked where its gradient is wanted."""
    if output.requires_grad:
        detached = tuple(tensor.detach() for tensor in inputs)
        output.recompute = Recompute(compute, detached, output._version)  # type: ignore[attr-defined]
    return output


def _recompute_of(x: Tensor) -> Recompute | None:
    """How ``x`` is computed again; None where it is not marked or was changed since."""
    recompute: Recompute | None = getattr(x, "recompute", None)
    return recompute if recompute is not None and recompute.version == x._version else None


Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


class _LeanLinear(torch.autograd.Function):
    """``F.linear`` with the rows of one or several weights.

    Keeps neither the packed weights for the backward pass nor an input that is recomputable.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, recompute: Recompute | None, bias: Tensor | None, *weights: Tensor
    ) -> Tensor:
        ctx.compute = None if recompute is None else recompute.compute
        kept = (x,) if recompute is None else recompute.inputs
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
            x = kept[0] if ctx.compute is None else ctx.compute(*kept)
            packed = rows.T @ x.flatten(0, -2)
            to_weights = packed.split([len(weight) for weight in weights])
        to_x = gradient @ _stacked(weights) if needs_x else None
        to_bias = rows.sum(0) if needs_bias else None
        return (to_x, None, to_bias, *to_weights)


def _stacked(weights: tuple[Tensor, ...]) -> Tensor:
    return weights[0] if len(weights) == 1 else torch.cat(weights)


def lean_linear(x: Tensor, bias: Tensor | None, *weights: Tensor) -> Tensor:
    """``F.linear`` of ``x`` (..., D) with weights one below the other.

    Keeps less for the backward pass than torch where ``x`` is recomputable or where there are
    several weights; elsewhere, and in a mixed-precision region, it is torch's.
    """
    recompute = _recompute_of(x)
    lean = len(weights) > 1 or recompute is not None
    if not lean or torch.is_autocast_enabled(x.device.type):
        return F.linear(x, _stacked(weights), bias)
    result: Tensor = _LeanLinear.apply(x, recompute, bias, *weights)  # type: ignore[no-untyped-call]
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
    packed_version = weight.data_ptr(), weight._version

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        usual = torch.is_grad_enabled() or torch.is_autocast_enabled("cpu")
        if (
            usual
            or x.dtype != torch.float32
            or (weight.data_ptr(), weight._version) != packed_version
        ):
            return lean_product(x, weight, bias)
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
        return result

    return product


class Linear(nn.Linear):
    """As ``nn.Linear``, with less kept for the backward pass.

    Attributes:
        output: what every output passes, if anything does: a gate of neurons, or a place for hooks
            on them. It gets (N, E) of a packed batch, else (rows, length, E).
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self.output: nn.Module | None = None
        self._product: Product = lean_product

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., E), given the context of the tokens, broadcastable to (...)."""
        return self.through_output(self._product(x, self.weight, self.bias), context)

    def through_output(self, output: Tensor, context: TokenContext) -> Tensor:
        """``output`` (..., E) of this projection, behind the gate or the hooks on it."""
        return output if self.output is None else self.output(output, context)

    def pack(self) -> None:
        """Lay the weight out for decoding; of no use for a weight that changes afterwards."""
        self._product = packed_product(self.weight)

    def unpack(self) -> None:
        """Give the room of that free."""
        self._product = lean_product


class LayerNorm(nn.LayerNorm):
    """As ``nn.LayerNorm``.

    Args:
        model_dim: D.
        recompute: whether the backward pass computes the output again instead of keeping it.
    """

    def __init__(self, model_dim: int, recompute: bool = True) -> None:
        super().__init__(model_dim)
        self.recompute = recompute

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D), the same for all languages."""
        return self._computed(partial(_normed, self.eps), x, self.weight, self.bias)

    def _computed(self, compute: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        output = compute(*inputs)
        return recomputable(output, compute, *inputs) if self.recompute else output


def _normed(eps: float, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, bias, eps)


class Projection(Linear):
    """One of an attention's projections; starts Xavier-uniform with zero bias.

    The weight is its own parameter, also where several projections are computed in one product.
    """

    def __init__(self, in_features: int, out_features: int, gain: float = 1.0) -> None:
        super().__init__(in_features, out_features)
        nn.init.xavier_uniform_(self.weight, gain=gain)
        nn.init.zeros_(self.bias)


def project_packed(x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
    """Several projections of ``x`` (..., D), in one matrix product where that pays.

    Packing copies the weights; with few rows that costs more than the products, and in a search
    every time again. A mixed-precision region casts the weights for each product by itself.
    """
    few = x.numel() < x.size(-1) ** 2 // 2
    if few or not torch.is_grad_enabled() or torch.is_autocast_enabled(x.device.type):
        return project_apart(x, context, *projections)
    bias = torch.cat([part.bias for part in projections])
    packed = lean_linear(x, bias, *(part.weight for part in projections))
    return split_outputs(packed, context, projections)


def split_outputs(
    packed: Tensor, context: TokenContext, projections: Sequence[Projection]
) -> list[Tensor]:
    """The outputs of projections that were computed in one piece, (..., sum of E)."""
    parts = packed.split([projection.out_features for projection in projections], -1)
    pairs = zip(projections, parts, strict=True)
    return [projection.through_output(part, context) for projection, part in pairs]


def project_apart(x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
    """The same, each in a product of its own."""
    return [part(x, context) for part in projections]
