"""Matrix products in 8-bit integers, for decoding on a CPU.

A weight has a scale for each output, an input one for each token: x is about s q, where q are
integers and s is the token's largest absolute value divided by the number of levels. A product is
then the sum of products of integers, which is exact, times both scales. No token affects another
token's scale, so a sentence's result does not depend on the other sentences of its batch.

Shapes: (..., D) tokens, D and E widths.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.cross_attention_layer import CrossAttentionLayer
from tdo_plugin.modules.layer import JointLayer
from tdo_plugin.modules.linear import Linear, Projection, project_apart, split_outputs
from tdo_plugin.modules.linear import project_packed as plain_projections
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext
from tdo_plugin.modules.translation_model import TranslationModel

ENGINE = "x86"  # torch's name for FBGEMM
WEIGHT_LEVELS = 127
# Without VNNI, kernels add two products in 16 bits, which only holds inputs of 7 bits.
LEVELS = 127 if torch.cpu._is_vnni_supported() else 63
ZERO = LEVELS + 1  # kernels read unsigned integers
# FBGEMM is faster for narrow weights, oneDNN for wide ones such as the output projection, if there
# are many tokens (benchmarks/int8_kernels.py).
WIDE = 4096  # outputs

Kernel = Callable[[Tensor], Tensor]
Int8Product = Callable[[Tensor, Tensor | None, Tensor | None], Tensor]  # input, unread weight, bias


def is_available() -> bool:
    """Whether torch has the kernels on this machine (on x86 only)."""
    return {ENGINE, "onednn"} <= {*torch.backends.quantized.supported_engines}


def int8_product(weight: Tensor) -> Int8Product:
    """``F.linear`` with this weight (E, D) in 8-bit integers, for single precision on a CPU."""
    scales = weight.detach().abs().amax(1).clamp_min(torch.finfo(weight.dtype).tiny) / WEIGHT_LEVELS
    integers = (weight.detach() / scales[:, None]).round().to(torch.int8)
    kernel = (_onednn if len(weight) >= WIDE else _fbgemm)(integers, scales)

    def product(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        largest = x.abs().amax(-1, keepdim=True).clamp_min_(torch.finfo(x.dtype).tiny)
        output = kernel(x / largest)
        return output.mul_(largest) if bias is None else torch.addcmul(bias, output, largest)

    return product


def _fbgemm(integers: Tensor, scales: Tensor) -> Kernel:
    """FBGEMM's product of tokens between -1 and 1 with a weight (E, D)."""
    multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default
    with _engine(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch will replace its quantised tensors some day
        no_offsets = torch.zeros(len(scales), dtype=torch.long)
        weight = torch._make_per_channel_quantized_tensor(integers, scales.double(), no_offsets, 0)
        packed = torch.ops.quantized.linear_prepack(weight, None)
    return lambda x: multiply(x, 1 / LEVELS, ZERO, packed)


def _onednn(integers: Tensor, scales: Tensor) -> Kernel:
    """As :func:`_fbgemm`, with oneDNN."""
    multiply = torch.ops.onednn.qlinear_pointwise.default
    packed = torch.ops.onednn.qlinear_prepack(integers, None)
    no_offsets = torch.zeros(len(scales), dtype=torch.long)
    output: tuple[Any, ...] = (
        1.0,
        0,
        torch.float32,
        "none",
        [],
        "",
    )  # its scale, offset, type and no more

    def product(x: Tensor) -> Tensor:
        levels = (x * LEVELS).round_().add_(ZERO).to(torch.uint8)
        result: Tensor = multiply(
            levels, 1 / LEVELS, ZERO, packed, scales, no_offsets, None, *output
        )
        return result

    return product


@contextmanager
def _engine() -> Iterator[None]:
    """Context manager that selects FBGEMM, which torch needs to know when it packs a weight."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = ENGINE
    try:
        yield
    finally:
        torch.backends.quantized.engine = before


class Int8Linear(nn.Module):
    """A :class:`.Linear` that computes in 8-bit integers; the weight itself is not kept."""

    def __init__(self, linear: Linear) -> None:
        super().__init__()
        self.out_features = linear.out_features
        self.bias = linear.bias
        self.output = linear.output
        self._product = int8_product(linear.weight)

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """As :meth:`.Linear.forward`."""
        return self.through_output(self._product(x, None, self.bias), context)

    def through_output(self, output: Tensor, context: TokenContext) -> Tensor:
        """As :meth:`.Linear.through_output`."""
        return output if self.output is None else self.output(output, context)


class JointInt8Projections:
    """Query, key and value of one input in a single product; takes the place of `project_packed`.

    Args:
        projections: of a self-attention, before they are quantised.
    """

    def __init__(self, projections: Sequence[Projection]) -> None:
        self._number = len(projections)
        self._product = int8_product(torch.cat([part.weight for part in projections]))
        self._bias = torch.cat([part.bias.detach() for part in projections])

    def __call__(self, x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
        """All projections of ``x`` (..., D) together, fewer separately."""
        if len(projections) < self._number:
            return project_apart(x, context, *projections)
        return split_outputs(self._product(x, None, self._bias), context, projections)


def quantise_(model: TranslationModel) -> None:
    """Compute all plain linear products of a model in 8-bit integers, the output's included.

    Products with weights for each language or pair stay as they are: a token may need the weight
    of any language. The model can then only decode.
    """
    for layer in model.stack.modules():
        if isinstance(layer, JointLayer | CrossAttentionLayer):
            _join(layer.attention)
    for parent in list(model.stack.modules()):
        for name, part in list(parent.named_children()):
            if type(part) in (Linear, Projection):
                setattr(parent, name, Int8Linear(part))  # type: ignore[arg-type]
    model.embeddings.use_product(int8_product(model.embeddings.output_weight))
    model.quantised = True


def _join(attention: MultiheadAttention) -> None:
    if attention.project is plain_projections:
        parts = attention.query, attention.key, attention.value
        attention.project = JointInt8Projections(parts)
