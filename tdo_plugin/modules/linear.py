"""Linear projections and norms that save memory in training and time in decoding.

Shapes: (...) tokens, D and E widths.

Selective recomputation: a linear projection keeps its input for the gradient of its weights. If
the input is marked as recomputable (the output of a norm, a concatenation), the tensors from which
it was computed are kept instead; other operations keep them anyway.

A decoding step has few rows, so a matrix product spends much of its time on converting the weight
to the layout of its kernel. A weight that no longer changes is converted once.

torch computes products in single precision with MKL, which uses AVX-512 only on Intel's processors.
On others that have it (AMD's since Zen 4), oneDNN, which is in torch, too, is about twice as fast.
The results are equal up to rounding. ``torch.backends.mkldnn.enabled = False`` returns to MKL.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils._pytree import tree_leaves

from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

Output = TypeVar("Output")
Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]

MIN_MULTIPLICATIONS = 1 << 26  # fewer do not repay oneDNN's preparation for a new shape


class Recompute(NamedTuple):
    """How to compute a tensor again.

    Attributes:
        compute: returns the same numbers, given the inputs.
        inputs: detached.
        version: of the tensor when it was marked; a later version was changed in place.
    """

    compute: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]
    version: int


def recomputable(output: Tensor, compute: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """``output``, equal to ``compute(*inputs)``, marked as recomputable if it needs a gradient."""
    if output.requires_grad:
        detached = tuple(tensor.detach() for tensor in inputs)
        output.recompute = Recompute(compute, detached, output._version)  # type: ignore[attr-defined]
    return output


def unmarked(outputs: Output) -> Output:
    """The same tensors, in any nesting, no longer marked as recomputable."""
    for tensor in tree_leaves(outputs):
        if isinstance(tensor, Tensor):
            vars(tensor).pop("recompute", None)
    return outputs


def _recompute_of(x: Tensor) -> Recompute | None:
    """How to compute ``x`` again; None if it is not marked or was changed since."""
    recompute: Recompute | None = getattr(x, "recompute", None)
    return recompute if recompute is not None and recompute.version == x._version else None


def product_for(x: Tensor, outputs: int, dtype: torch.dtype) -> Product:
    """``F.linear``, or oneDNN's if it is faster for these shapes.

    The products of the backward pass have as many multiplications, so it is faster for them, too.

    Args:
        x: the input, (..., D).
        outputs: E.
        dtype: of the weight, (E, D).
    """
    single = x.device.type == "cpu" and x.dtype == dtype == torch.float32
    large = single and x.numel() * outputs >= MIN_MULTIPLICATIONS
    return _onednn if large and mkl_is_narrow() and torch.backends.mkldnn.enabled else F.linear


def _step(rows: int) -> int:
    """The multiple of rows that oneDNN computes: an eighth to a sixteenth of them, at least 128.

    oneDNN generates code for each shape, up to some megabytes, and returns little of it. Batches
    have ever new numbers of tokens, so that a long training would fill the machine.
    """
    return int(1 << max(7, rows.bit_length() - 4))


def _beyond(rows: int) -> int:
    """The rows beyond a multiple of the step; 0 for a few, as of a small weight's gradient."""
    step = _step(rows)
    return rows % step if rows > step else 0


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """oneDNN's product of (R, D) and (E, D), for numbers of rows that recur (`_beyond`)."""
    if not (weight.is_contiguous() or weight.T.is_contiguous()):
        weight = weight.contiguous()  # oneDNN has no fast code for rows with gaps
    rows = x.flatten(0, -2)
    rest = _beyond(len(rows))
    multiply = torch.ops.mkldnn._linear_pointwise.default
    if rest and x.size(-1) < len(weight):  # the narrower side is copied
        padded = F.pad(rows, (0, 0, 0, _step(len(rows)) - rest))
        product = multiply(padded, weight, bias, "none", [], "")[: len(rows)]
    elif rest:
        whole = multiply(rows[:-rest], weight, bias, "none", [], "")
        product = torch.cat([whole, F.linear(rows[-rest:], weight, bias)])
    else:
        product = multiply(rows, weight, bias, "none", [], "")
    result: Tensor = product.view(*x.shape[:-1], len(weight))
    return result


def gradient_of_weights(product: Product, gradient: Tensor, x: Tensor) -> Tensor:
    """The gradient (E, D) of a product's weights, given those of its output (R, E) and x (R, D)."""
    rest = 0 if product is F.linear else _beyond(len(x))
    if not rest:
        return product(gradient.T, x.T, None)
    whole = product(gradient[:-rest].T, x[:-rest].T, None)
    return whole.addmm_(gradient[-rest:].T, x[-rest:])


@cache
def mkl_is_narrow() -> bool:
    """Whether MKL leaves half of this processor's vector width unused and oneDNN does not."""
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    info = Path("/proc/cpuinfo")
    return libraries and wide and info.exists() and "GenuineIntel" not in info.read_text()


class _LeanLinear(torch.autograd.Function):
    """``F.linear`` with the rows of one or several weights.

    Keeps neither the concatenated weights nor a recomputable input for the backward pass.
    """

    @staticmethod
    def forward(
        ctx: Any,
        product: Product,
        x: Tensor,
        recompute: Recompute | None,
        bias: Tensor | None,
        *weights: Tensor,
    ) -> Tensor:
        ctx.compute = None if recompute is None else recompute.compute
        kept = (x,) if recompute is None else recompute.inputs
        ctx.save_for_backward(*kept, *weights)
        ctx.kept = len(kept)
        ctx.product = product
        return product(x, _stacked(weights), bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # once: under checkpointing this computes the layer again
        kept, weights = saved[: ctx.kept], saved[ctx.kept :]
        _, needs_x, _, needs_bias, *needs_weights = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        to_weights: tuple[Tensor | None, ...] = (None,) * len(weights)
        if any(needs_weights):
            x = kept[0] if ctx.compute is None else ctx.compute(*kept)
            packed = gradient_of_weights(ctx.product, rows, x.flatten(0, -2))
            to_weights = packed.split([len(weight) for weight in weights])
        to_x = ctx.product(gradient, _stacked(weights).T, None) if needs_x else None
        to_bias = rows.sum(0) if needs_bias else None
        return (None, to_x, None, to_bias, *to_weights)


def _stacked(weights: tuple[Tensor, ...]) -> Tensor:
    return weights[0] if len(weights) == 1 else torch.cat(weights)


def lean_linear(x: Tensor, bias: Tensor | None, *weights: Tensor) -> Tensor:
    """``F.linear`` of ``x`` (..., D) with the concatenated rows of the weights.

    Keeps less for the backward pass than torch if ``x`` is recomputable or there are several
    weights, and may use a faster product (see :mod:`.products`); otherwise, and under autocast, it
    is torch's function.
    """
    recompute = _recompute_of(x)
    lean = len(weights) > 1 or recompute is not None
    product = product_for(x, sum(map(len, weights)), weights[0].dtype)
    if (not lean and product is F.linear) or torch.is_autocast_enabled(x.device.type):
        return F.linear(x, _stacked(weights), bias)
    result: Tensor = _LeanLinear.apply(  # type: ignore[no-untyped-call]
        product, x, recompute, bias, *weights
    )
    return result


def lean_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """:func:`lean_linear` with one weight."""
    return lean_linear(x, bias, weight)


def packed_product(weight: Tensor) -> Product:
    """``F.linear`` with this weight, from oneDNN's own layout of it if available.

    The layout is available for single precision on a CPU if torch was built with oneDNN. It is not
    used when gradients are needed, under autocast, or for another weight (after a move, a load or
    a copy of the module).
    """
    single = weight.device.type == "cpu" and weight.dtype == torch.float32
    if not (single and torch.backends.mkldnn.is_available()):
        return lean_product
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
    multiply = torch.ops.mkldnn._linear_pointwise.default  # without the search for an overload
    packed_version = weight.data_ptr(), weight._version

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        usual = torch.is_grad_enabled() or torch.is_autocast_enabled("cpu")
        if (
            usual
            or x.dtype != torch.float32
            or (weight.data_ptr(), weight._version) != packed_version
        ):
            return lean_product(x, weight, bias)
        result: Tensor = multiply(x, packed, bias, "none", [], "")
        return result

    return product


class Linear(nn.Linear):
    """``nn.Linear`` that keeps less for the backward pass.

    Attributes:
        output: a module applied to every output, or None: a gate of neurons, or a place for hooks
            on neurons. Its input is (N, E) or (rows, length, E).
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self.output: nn.Module | None = None
        self._product: Product = lean_product

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., E); the context of the tokens is broadcastable to (...)."""
        return self.through_output(self._product(x, self.weight, self.bias), context)

    def through_output(self, output: Tensor, context: TokenContext) -> Tensor:
        """``output`` (..., E) after the gate or hooks of this projection."""
        return output if self.output is None else self.output(output, context)

    def pack(self) -> None:
        """Convert the weight to the layout for decoding; only for a weight that stays constant."""
        self._product = packed_product(self.weight)

    def unpack(self) -> None:
        """Free the memory of the decoding layout."""
        self._product = lean_product


class LayerNorm(nn.LayerNorm):
    """``nn.LayerNorm`` with a recomputable output.

    Args:
        model_dim: D.
        recompute: whether the backward pass recomputes the output instead of keeping it.
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
    """A projection of an attention, initialised Xavier-uniform with zero bias.

    The weight is a parameter of its own even if several projections are computed in one product.
    """

    def __init__(self, in_features: int, out_features: int, gain: float = 1.0) -> None:
        super().__init__(in_features, out_features)
        nn.init.xavier_uniform_(self.weight, gain=gain)
        nn.init.zeros_(self.bias)


def project_packed(x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
    """Several projections of ``x`` (..., D), in one matrix product where this is faster.

    Concatenating copies the weights, which costs more than the products if there are few rows, and
    again in every step of a search. Autocast casts the weights of each product separately.
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
    """The outputs of projections that were computed together, (..., sum of E)."""
    parts = packed.split([projection.out_features for projection in projections], -1)
    pairs = zip(projections, parts, strict=True)
    return [projection.through_output(part, context) for projection, part in pairs]


def project_apart(x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
    """As :func:`project_packed`, with a separate product for each projection."""
    return [part(x, context) for part in projections]
