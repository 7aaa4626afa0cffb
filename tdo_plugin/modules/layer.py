"""Layers, made of ready parts, that sources and targets pass.

For a layer that a target passes, ``project_kv`` gives what its target queries read of the source,
and ``target`` takes the target through. A joint layer takes a packed batch of either through.

Shapes: B sentences, R = B * beams rows, S source, T target, L of either, D model width, N tokens
of a packed batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.feed_forward import FeedForward
from tdo_plugin.modules.masks import TargetMask
from tdo_plugin.modules.packed_batch import LastQueries, PackedBatch, Segment
from tdo_plugin.modules.residual import Residual
from tdo_plugin.modules.source_part import SourcePart
from tdo_plugin.modules.target_cache import TargetCache
from tdo_plugin.modules.target_store import TargetStore
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


@dataclass(frozen=True)
class DecoderContext:
    """What a target reads in the layers that it passes.

    Attributes:
        source_kv: for each layer, keys and values (B, H, S, E) of the source.
        mask: of the sentences.
        tokens: context of the target's tokens, broadcastable to (R, T).
        cache: the target so far, if it is kept; R = B without one.
    """

    source_kv: Sequence[KeyValue]
    mask: TargetMask
    tokens: TokenContext = NO_CONTEXT
    cache: TargetStore | None = None


class TargetLayer(nn.Module):
    """What a stack asks of a layer that the target passes.

    ``store`` is the kind of cache that keeps the target between steps of decoding.
    """

    store: type[TargetStore] = TargetCache

    def project_kv(self, source: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        """Keys and values (B, H, S, E) that the target reads.

        Args:
            source: (B, S, D).
            context: of its tokens, broadcastable to (B, S).
        """
        raise TypeError(f"{type(self).__name__} is no target layer; use a subclass")

    def target(self, x: Tensor, ctx: DecoderContext, index: int) -> Tensor:
        """The target (R, T, D) one layer on.

        Args:
            x: (R, T, D).
            ctx: what it reads there.
            index: the layer's place among the source's keys and values and in the cache.
        """
        raise TypeError(f"{type(self).__name__} is no target layer; use a subclass")


class JointLayer(TargetLayer):
    """Self-attention and FFN with the same weights for source and target (a decoder-only layer).

    Args:
        attention: self-attention.
        feed_forward: the FFN.
        attention_residual: around the attention.
        feed_forward_residual: around the FFN.
        skip: makes of a source what the residual connection around the attention carries.
        pre_ffn: applied to a source between the attention and the FFN.
    """

    def __init__(
        self,
        attention: MultiheadAttention,
        feed_forward: FeedForward,
        attention_residual: Residual,
        feed_forward_residual: Residual,
        skip: SourcePart | None = None,
        pre_ffn: SourcePart | None = None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_residual = attention_residual
        self.feed_forward_residual = feed_forward_residual
        self.skip = skip
        self.pre_ffn = pre_ffn

    def forward(self, batch: PackedBatch) -> Tensor:
        """A packed batch one layer on, (N, D), each linear layer one product for all segments."""
        context = batch.context
        mixed = batch.attend(self.attention, self.attention_residual.before(batch.x, context))
        attended = self.attention.out(mixed, context)
        skipped = batch.x if self.skip is None else self.skip.packed(batch.x, batch)
        x = self.attention_residual.after(skipped, attended, context)
        x = x if self.pre_ffn is None else self.pre_ffn.packed(x, batch)
        return self._feed_forward(x, context)

    def finish(self, segment: Segment, number: int, x: Tensor) -> None:
        """The last layer of a segment that needs no whole output of it.

        Keys and values are computed of all positions, the rest of the layer only for the target
        and for single tokens that were asked for.

        Args:
            segment: keeps what is wanted.
            number: of this layer, from 1.
            x: the layer's input (B, L, D).
        """
        kv = self.project_kv(x, segment.context)
        for queries in segment.last_queries(number, x, kv):
            of_source = queries.place is not None
            segment.keep_last(queries, self.forward_queries(queries, of_source))

    def forward_queries(self, queries: LastQueries, of_source: bool = False) -> Tensor:
        """Some tokens through the layer, given what they see: (B, T, D).

        Args:
            queries: the tokens.
            of_source: whether they are a source's.
        """
        context = queries.context
        normed = self.attention_residual.before(queries.x, context)
        query = self.attention.queries(normed, context)
        attended = self.attention.attend(query, queries.kv, queries.mask, context)
        x = queries.x
        if of_source and self.skip is not None:
            x = self.skip(x, context)
        x = self.attention_residual.after(x, attended, context)
        if of_source and self.pre_ffn is not None:
            x = self.pre_ffn(x, context)
        return self._feed_forward(x, context)

    def project_kv(self, source: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        normed = self.attention_residual.before(source, context)
        return self.attention.keys_values(normed, context)

    def target(self, x: Tensor, ctx: DecoderContext, index: int) -> Tensor:
        normed = self.attention_residual.before(x, ctx.tokens)
        query = self.attention.queries(normed, ctx.tokens)
        target_kv = self.attention.keys_values(normed, ctx.tokens)
        if ctx.cache is None:
            pairs = zip(ctx.source_kv[index], target_kv, strict=True)
            kv = KeyValue(*(torch.cat(pair, 2) for pair in pairs))
        else:
            kv = ctx.cache.extend(index, target_kv, ctx.source_kv)
        attended = self.attention.attend(query, kv, ctx.mask.joint, ctx.tokens)
        return self._feed_forward(
            self.attention_residual.after(x, attended, ctx.tokens), ctx.tokens
        )

    def _feed_forward(self, x: Tensor, context: TokenContext) -> Tensor:
        output = self.feed_forward(self.feed_forward_residual.before(x, context), context)
        return self.feed_forward_residual.after(x, output, context)


class CrossAttentionLayer(TargetLayer):
    """Self-attention, cross-attention to the final source state, FFN (an encoder-decoder's)."""

    def __init__(
        self,
        attention: MultiheadAttention,
        cross_attention: MultiheadAttention,
        feed_forward: FeedForward,
        attention_residual: Residual,
        cross_attention_residual: Residual,
        feed_forward_residual: Residual,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.attention_residual = attention_residual
        self.cross_attention_residual = cross_attention_residual
        self.feed_forward_residual = feed_forward_residual

    def project_kv(self, source: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        return self.cross_attention.keys_values(source, context)

    def target(self, x: Tensor, ctx: DecoderContext, index: int) -> Tensor:
        context, mask = ctx.tokens, ctx.mask
        normed = self.attention_residual.before(x, context).flatten(0, 1)
        shape = x.size(0), x.size(1)
        tokens = context.flat(*shape)
        ((query, target_kv),) = self.attention.queries_keys_values(normed, [shape], tokens)
        kv = target_kv if ctx.cache is None else ctx.cache.extend(index, target_kv)
        attended = self.attention.attend(query, kv, mask.over_target, context)
        x = self.attention_residual.after(x, attended, context)

        normed = self.cross_attention_residual.before(x, context)
        query = self.cross_attention.queries(normed, context)
        attended = self.cross_attention.attend(
            query, ctx.source_kv[index], mask.over_source, context
        )
        x = self.cross_attention_residual.after(x, attended, context)

        output = self.feed_forward(self.feed_forward_residual.before(x, context), context)
        return self.feed_forward_residual.after(x, output, context)
