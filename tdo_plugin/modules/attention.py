"""Multi-head attention, of one stream or of several rows over what they share.

Shapes: B sentences, K rows (beams) of a sentence, R = B * K, T queries of a row, L keys and values
of a sentence, D model width, H heads, E = D / H head width.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention_kernel import kernel_without_plan
from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.linear import Linear, lean_linear
from tdo_plugin.modules.methods.neuron_gate import NeuronOutput
from tdo_plugin.modules.positions import RotaryPositions
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class KeyValue(NamedTuple):
    """Keys and values, each (rows, H, length, E)."""

    key: Tensor
    value: Tensor


class Projection(Linear):
    """A linear projection whose single outputs can be hooked.

    The weight is its own parameter, also where several projections are computed in one product;
    ``output`` is a point that every path passes, an identity or a gate: (N, out) of all streams
    that pass the layer side by side, else (rows, length, out).
    """

    def __init__(self, in_features: int, out_features: int, gain: float = 1.0) -> None:
        super().__init__(in_features, out_features)
        nn.init.xavier_uniform_(self.weight, gain=gain)
        nn.init.zeros_(self.bias)
        self.output = NeuronOutput()

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        result: Tensor = self.output(super().forward(x), context)
        return result


def project_packed(x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
    """Several projections of ``x`` (..., D), in one matrix product where that pays.

    Packing copies the weights; with few rows that costs more than the products, and in a search
    every time again. A mixed-precision region casts the weights for each product by itself.
    """
    few = x.numel() < x.size(-1) ** 2 // 2
    if few or not torch.is_grad_enabled() or torch.is_autocast_enabled(x.device.type):
        return project_apart(x, context, *projections)
    bias = torch.cat([part.bias for part in projections])
    weights = [part.weight for part in projections]
    packed = lean_linear(x, bias, *weights)
    outputs = packed.split([part.out_features for part in projections], -1)
    return [part.output(output, context) for part, output in zip(projections, outputs, strict=True)]


def project_apart(x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
    """The same, each in a product of its own."""
    return [part(x, context) for part in projections]


class MultiheadAttention(nn.Module):
    """Scaled dot-product attention (Vaswani et al., 2017), softmax scale 1 / sqrt(E).

    Query, key and value start Xavier-uniform with gain 1 / sqrt(2), the output projection with
    gain 1 and zero bias, as fairseq starts them. Projections are told the languages of the
    positions that they get, which gates ask for, and projections for each language.

    Args:
        model_dim: D.
        num_heads: H, a divisor of D.
        dropout: on the attention weights.
        project: how several projections of one input are computed.
        projection: makes one, given its widths and gain.
        rotary: turns queries and keys by the positions of their tokens, if anything does.
        kernel: computes the attention itself, as those of ``attention_kernel.py`` do.
    """

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        dropout: PlainDropout,
        project: Callable[..., list[Tensor]] = project_packed,
        projection: Callable[..., Projection] = Projection,
        rotary: RotaryPositions | None = None,
        kernel: Callable[..., Tensor] = kernel_without_plan,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.rotary = rotary
        self._project, self._kernel = project, kernel
        self.query = projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.key = projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.value = projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.out = projection(model_dim, model_dim)

    def queries_keys_values(
        self, x: Tensor, shapes: Sequence[tuple[int, int]], context: TokenContext = NO_CONTEXT
    ) -> list[tuple[Tensor, KeyValue]]:
        """Of several streams side by side, each one's queries, keys and values.

        Args:
            x: (N, D), the streams one after the other.
            shapes: of each stream, rows and length; N is the sum of their products.
            context: of the tokens, (N,).

        Returns:
            Queries (rows, H, length, E) and keys and values of the same, for each stream.
        """
        sizes = [rows * length for rows, length in shapes]
        query, key, value = self._project(x, context, self.query, self.key, self.value)
        kinds = self._turned(query, context), self._turned(key, context), value
        streams = zip(*(kind.split(sizes) for kind in kinds), strict=True)
        split = [
            [self._split_heads(part.view(*shape, part.size(1))) for part in stream]
            for stream, shape in zip(streams, shapes, strict=True)
        ]
        return [(query, KeyValue(key, value)) for query, key, value in split]

    def queries(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(rows, length, D) to (rows, H, length, E)."""
        return self._split_heads(self._turned(self.query(x, context), context))

    def queries_values(
        self, x: Tensor, context: TokenContext = NO_CONTEXT
    ) -> tuple[Tensor, Tensor]:
        """(rows, length, D) to queries (rows, H, length, E) and values in one piece, as ``x``."""
        query, value = self._project(x, context, self.query, self.value)
        return self._split_heads(query), value

    def keys_values(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        """(rows, length, D) to keys and values, each (rows, H, length, E)."""
        key, value = self._project(x, context, self.key, self.value)
        return KeyValue(*map(self._split_heads, (self._turned(key, context), value)))

    def attend(
        self,
        query: Tensor,
        memory: KeyValue,
        mask: Tensor | None,
        context: TokenContext = NO_CONTEXT,
    ) -> Tensor:
        """:meth:`mix` and the output projection: (R, T, D)."""
        projected: Tensor = self.out(self.mix(query, memory, mask), context)
        return projected

    def mix(self, query: Tensor, memory: KeyValue, mask: Tensor | None) -> Tensor:
        """Queries over the memory of their sentence, which K rows share.

        Args:
            query: (R, H, T, E).
            memory: keys and values (B, H, L, E).
            mask: boolean, broadcastable to (B, H, K * T, L), the queries of a sentence row by
                row; true where a query may look. None where all is seen; on a GPU it may be torch's
                description of a causal mask.

        Returns:
            (R, T, D), before the output projection.
        """
        queries = _fold_rows(query, memory.key.size(0))
        mixed = self._kernel(queries, *memory, mask, self.dropout.active_rate)
        return _unfold_rows(mixed, query).transpose(1, 2).flatten(2)

    def _turned(self, x: Tensor, context: TokenContext) -> Tensor:
        """Queries or keys (..., D), by the positions of their tokens where that is asked for."""
        if self.rotary is None:
            return x
        if context.position is None:
            raise ValueError("rotary positions need the position of every token")
        turned: Tensor = self.rotary(x, context.position)
        return turned

    def _split_heads(self, x: Tensor) -> Tensor:
        split: Tensor = x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        return split


def _fold_rows(x: Tensor, sentences: int) -> Tensor:
    """(B * K, H, T, E) to (B, H, K * T, E): the rows of a sentence become its queries."""
    rows, heads, length, width = x.shape
    if rows == sentences:
        return x
    split = x.view(sentences, rows // sentences, heads, length, width)
    return split.transpose(1, 2).flatten(2, 3)


def _unfold_rows(x: Tensor, like: Tensor) -> Tensor:
    """(B, H, K * T, E) back to the rows of ``like`` (B * K, H, T, E)."""
    rows, heads, length, width = like.shape
    sentences = x.size(0)
    if rows == sentences:
        return x
    split = x.view(sentences, heads, rows // sentences, length, width)
    return split.transpose(1, 2).flatten(0, 1)
