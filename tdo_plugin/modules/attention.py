"""Multi-head attention of one stream, and of target queries over a shared source.

Shapes: B sentences, K beams of a sentence, R = B * K rows, S source, T target (queries), P cached
and new target keys together, D model width, H heads, E = D / H head width.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.dropout import Dropout


class KeyValue(NamedTuple):
    """Keys and values, each (rows, H, length, E)."""

    key: Tensor
    value: Tensor


class Projection(nn.Linear):
    """A linear projection whose single outputs can be hooked.

    The weight is its own parameter, also where several projections are computed in one product;
    ``output`` is an identity that every path passes, a named point for hooks and gates.
    """

    def __init__(self, in_features: int, out_features: int, gain: float = 1.0) -> None:
        super().__init__(in_features, out_features)
        nn.init.xavier_uniform_(self.weight, gain=gain)
        nn.init.zeros_(self.bias)
        self.output = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.output(super().forward(x))
        return result


def project(x: Tensor, *projections: Projection) -> list[Tensor]:
    """Several projections of ``x`` (..., D), in one matrix product where that pays.

    Packing copies the weights; with few rows, as in a step of decoding, that costs more than the
    products.
    """
    if x.numel() < x.size(-1) ** 2 // 2:
        return [part(x) for part in projections]
    weight = torch.cat([part.weight for part in projections])
    bias = torch.cat([part.bias for part in projections])
    outputs = F.linear(x, weight, bias).split([part.out_features for part in projections], -1)
    return [part.output(output) for part, output in zip(projections, outputs, strict=True)]


class MultiheadAttention(nn.Module):
    """Scaled dot-product attention (Vaswani et al., 2017), softmax scale 1 / sqrt(E).

    Query, key and value start Xavier-uniform with gain 1 / sqrt(2), the output projection with
    gain 1 and zero bias, as fairseq starts them.

    Args:
        model_dim: D.
        num_heads: H, a divisor of D.
        dropout: on the attention weights.
    """

    def __init__(self, model_dim: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = Dropout(dropout)
        self.query = Projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.key = Projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.value = Projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.out = Projection(model_dim, model_dim)

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, KeyValue]:
        """(rows, length, D) to queries (rows, H, length, E) and keys and values of the same."""
        query, key, value = map(self._split_heads, project(x, self.query, self.key, self.value))
        return query, KeyValue(key, value)

    def queries(self, x: Tensor) -> Tensor:
        """(rows, length, D) to (rows, H, length, E)."""
        return self._split_heads(self.query(x))

    def keys_values(self, x: Tensor) -> KeyValue:
        """(rows, length, D) to keys and values, each (rows, H, length, E)."""
        return KeyValue(*map(self._split_heads, project(x, self.key, self.value)))

    def attend(self, query: Tensor, memory: KeyValue, mask: Tensor) -> Tensor:
        """Queries over the memory of the same rows.

        Args:
            query: (rows, H, T, E).
            memory: keys and values of length L.
            mask: boolean, broadcastable to (rows, H, T, L); true where a query may look.

        Returns:
            (rows, T, D), after the output projection.
        """
        mixed = F.scaled_dot_product_attention(
            query, *memory, attn_mask=mask, dropout_p=self.dropout.active_rate
        )
        return self._merge_heads(mixed)

    def attend_shared(self, query: Tensor, source: KeyValue, mask: Tensor) -> Tensor:
        """Queries of R rows over the memory of B sentences, K rows to a sentence.

        Args:
            query: (R, H, T, E).
            source: (B, H, S, E).
            mask: boolean (B, 1, 1, S).

        Returns:
            (R, T, D), after the output projection.
        """
        beams = _fold_beams(query, source.key.size(0))
        mixed = F.scaled_dot_product_attention(
            beams, *source, attn_mask=mask, dropout_p=self.dropout.active_rate
        )
        return self._merge_heads(_unfold_beams(mixed, query))

    def attend_both(
        self,
        query: Tensor,
        source: KeyValue,
        source_mask: Tensor,
        target: KeyValue,
        target_mask: Tensor,
    ) -> Tensor:
        """One softmax over [source ; target], the source stored once for its K rows.

        Args:
            query: (R, H, T, E).
            source: (B, H, S, E).
            source_mask: boolean (B, 1, 1, S).
            target: (R, H, P, E).
            target_mask: boolean, broadcastable to (R, H, T, P).

        Returns:
            (R, T, D), after the output projection.
        """
        sentences = source.key.size(0)
        query = query * query.size(-1) ** -0.5  # before the product: it must fit half precision
        beams = _fold_beams(query, sentences)
        over_source = (beams @ source.key.transpose(-1, -2)).masked_fill(~source_mask, -math.inf)
        over_target = (query @ target.key.transpose(-1, -2)).masked_fill(~target_mask, -math.inf)
        scores = torch.cat([_unfold_beams(over_source, query), over_target], -1)
        accurate = torch.promote_types(scores.dtype, torch.float32)
        weights = scores.softmax(-1, dtype=accurate).to(query.dtype)
        weights = self.dropout(weights)
        on_source, on_target = weights.split([source.key.size(2), target.key.size(2)], -1)
        from_source = _unfold_beams(_fold_beams(on_source, sentences) @ source.value, query)
        return self._merge_heads(from_source + on_target @ target.value)

    def _split_heads(self, x: Tensor) -> Tensor:
        split: Tensor = x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        return split

    def _merge_heads(self, mixed: Tensor) -> Tensor:
        projected: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return projected


def _fold_beams(x: Tensor, sentences: int) -> Tensor:
    """(B * K, H, T, X) to (B, H, K * T, X): the beams of a sentence become its queries."""
    rows, heads, length, width = x.shape
    beams = rows // sentences
    if beams == 1:
        return x
    folded = x.view(sentences, beams, heads, length, width).transpose(1, 2)
    return folded.reshape(sentences, heads, beams * length, width)


def _unfold_beams(x: Tensor, like: Tensor) -> Tensor:
    """(B, H, K * T, X) back to the rows of ``like`` (B * K, H, T, E)."""
    rows, heads, length, _ = like.shape
    sentences, width = x.size(0), x.size(-1)
    if rows == sentences:
        return x
    unfolded = x.view(sentences, heads, rows // sentences, length, width).transpose(1, 2)
    return unfolded.reshape(rows, heads, length, width)
