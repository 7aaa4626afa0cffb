"""Layers of the source and target streams, their feed-forward networks and residual connections.

In a layer that targets pass, ``project_kv`` computes the keys and values of the source and
``target`` the layer's output for the target. A joint layer also takes a packed batch of both.

Shapes: B sentences, R = B * beams rows, S source, T target, L source or target, D model width, N
tokens of a packed batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.linear import Linear, unmarked
from tdo_plugin.modules.masks import TargetMask
from tdo_plugin.modules.packed_batch import Kept, PackedBatch, Segment
from tdo_plugin.modules.segment_tokens import LastQueries
from tdo_plugin.modules.source_part import SourcePart
from tdo_plugin.modules.target_cache import TargetCache
from tdo_plugin.modules.target_store import TargetStore
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

Output = TypeVar("Output")


class FeedForward(nn.Module):
    """W2 ReLU(W1 x + b1) + b2 (Vaswani et al., 2017, equation 2), with torch's initialisation.

    Args:
        model_dim: D.
        inner_dim: the inner size.
        activation_dropout: after the ReLU.
    """

    def __init__(self, model_dim: int, inner_dim: int, activation_dropout: nn.Module) -> None:
        super().__init__()
        self.inner = Linear(model_dim, inner_dim)
        self.outer = Linear(inner_dim, model_dim)
        self.activation_dropout = activation_dropout

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D); the context of the tokens is broadcastable to (...)."""
        inner = F.relu(self.inner(x, context))
        outer: Tensor = self.outer(self.activation_dropout(inner), context)
        return outer


class Residual(nn.Module):
    """Residual connection: the sublayer runs between ``before`` and ``after``.

    Subclasses decide where the norm is. Both methods take the context of the tokens, broadcastable
    to (...), for language-aware norms.
    """

    def __init__(self, norm: nn.Module, dropout: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = dropout

    def before(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """The input of the sublayer, (..., D)."""
        raise TypeError(f"{type(self).__name__} defines no place for its norm; use a subclass")

    def after(self, x: Tensor, output: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """``x`` with the sublayer's ``output`` added, (..., D)."""
        raise TypeError(f"{type(self).__name__} defines no place for its norm; use a subclass")


class PostNormResidual(Residual):
    """norm(x + dropout(f(x))) (Vaswani et al., 2017)."""

    def before(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        return x

    def after(self, x: Tensor, output: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        normed: Tensor = self.norm(x + self.dropout(output), context)
        return normed


class PreNormResidual(Residual):
    """x + dropout(f(norm(x)))."""

    def before(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        normed: Tensor = self.norm(x, context)
        return normed

    def after(self, x: Tensor, output: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        added: Tensor = x + self.dropout(output)
        return added


@dataclass(frozen=True)
class DecoderContext:
    """What the target reads in its layers.

    Attributes:
        source_kv: for each layer, keys and values (B, H, S, E) of the source.
        mask: visibility for the target's queries.
        tokens: context of the target tokens, broadcastable to (R, T).
        cache: earlier target positions in incremental decoding; without a cache R = B.
    """

    source_kv: Sequence[KeyValue]
    mask: TargetMask
    tokens: TokenContext = NO_CONTEXT
    cache: TargetStore | None = None


class TargetLayer(nn.Module):
    """The interface of a layer that targets pass.

    Calling a layer runs a function inside it: its parameters must not be used elsewhere in
    training, since hooks on the call may gather and free them.

    Attributes:
        store: the class of the cache between decoding steps.
        checkpointed: whether the backward pass computes the layer again instead of keeping its
            activations, in training mode.
        separate: whether nothing outside the layer's calls may need its parameters in the backward
            pass.
    """

    store: type[TargetStore] = TargetCache
    checkpointed = False
    separate = False

    def forward(self, work: Callable[..., Output], *inputs: Tensor) -> Output:
        """Run ``work``, which uses the layer's parameters.

        Args:
            work: a function of the inputs; returns all tensors that it made and that others read.
                With ``checkpointed`` it is called again in the backward pass, with the same random
                numbers.
            inputs: all tensors that the layer's parameters meet, (..., D).
        """
        # analyses change modules by hooks, which may be gone when the backward pass begins
        again = self.checkpointed and self.training
        if not (again or self.separate) or not torch.is_grad_enabled():
            return work(*inputs)
        output: Output = checkpoint(work, *inputs, use_reentrant=False) if again else work(*inputs)
        return unmarked(output)

    def project_kv(self, source: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        """Keys and values (B, H, S, E) of the source, for the target to read.

        Args:
            source: (B, S, D).
            context: of the source tokens, broadcastable to (B, S).
        """
        raise TypeError(f"{type(self).__name__} is no target layer; use a subclass")

    def target(self, x: Tensor, ctx: DecoderContext, index: int) -> Tensor:
        """The layer's output for the target, (R, T, D).

        Args:
            x: (R, T, D).
            ctx: what the target reads.
            index: of the layer, in the source's keys and values and in the cache.
        """
        raise TypeError(f"{type(self).__name__} is no target layer; use a subclass")


class JointLayer(TargetLayer):
    """Self-attention and FFN with the same weights for source and target (a decoder-only layer).

    Args:
        attention: self-attention.
        feed_forward: the FFN.
        attention_residual: around the attention.
        feed_forward_residual: around the FFN.
        skip: changes the residual connection around the attention at source tokens.
        pre_ffn: applied to source tokens between attention and FFN.
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

    def pass_batch(
        self, x: Tensor, *tokens: Tensor, batch: PackedBatch, last: Sequence[Segment], number: int
    ) -> tuple[Tensor | None, list[Kept]]:
        """The layer's work for a packed batch and for segments that leave in this layer.

        Args:
            x: the batch's tokens, (N, D).
            tokens: of each segment of ``last``, (B, L, D).
            batch: the segments of ``x``, maybe none.
            last: segments of which only requested tokens are needed from this layer.
            number: of this layer, from 1.

        Returns:
            the output (N, D), if the batch has segments, and what each segment, then each of
            ``last``, has kept.
        """
        for segment, each in zip(last, tokens, strict=True):
            self._finish(segment, number, each)
        output = self.packed(x, batch) if batch.segments else None
        return output, batch.hand_over(last)

    def packed(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """The output (N, D) for a packed batch; linear layers need one product for all segments.

        Args:
            x: the batch's tokens, (N, D).
            batch: their segments.
        """
        context = batch.context
        normed = self.attention_residual.before(x, context)
        attended = self.attention.out(batch.attend(self.attention, normed), context)
        del normed  # frees memory for the FFN
        skipped = x if self.skip is None else self.skip.packed(x, batch)
        x = self.attention_residual.after(skipped, attended, context)
        x = x if self.pre_ffn is None else self.pre_ffn.packed(x, batch)
        return self._feed_forward(x, context)

    def _finish(self, segment: Segment, number: int, x: Tensor) -> None:
        """Keys and values at all positions of ``x`` (B, L, D), the rest only where needed."""
        kv = self.project_kv(x, segment.context)
        for tokens in segment.last_queries(number, x, kv):
            output = self.forward_queries(tokens)
            state = output[:, 0] if tokens.of_source else output
            segment.kept.token_states[tokens.place] = state

    def forward_queries(self, queries: LastQueries) -> Tensor:
        """The layer's output (B, T, D) for some tokens, given the keys and values they see."""
        context = queries.context
        normed = self.attention_residual.before(queries.x, context)
        attended = self.attention.attend(normed, queries.kv, queries.mask, context)
        x = queries.x
        if queries.of_source and self.skip is not None:
            x = self.skip(x, context)
        x = self.attention_residual.after(x, attended, context)
        if queries.of_source and self.pre_ffn is not None:
            x = self.pre_ffn(x, context)
        return self._feed_forward(x, context)

    def project_kv(self, source: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        normed = self.attention_residual.before(source, context)
        return self.attention.keys_values(normed, context)

    def target(self, x: Tensor, ctx: DecoderContext, index: int) -> Tensor:
        normed = self.attention_residual.before(x, ctx.tokens).flatten(0, 1)
        shape = x.size(0), x.size(1)
        tokens = ctx.tokens.flat(*shape)
        ((query, target_kv),) = self.attention.queries_keys_values(normed, [shape], tokens)
        if ctx.cache is None:
            pairs = zip(ctx.source_kv[index], target_kv, strict=True)
            kv = KeyValue(*(torch.cat(pair, 2) for pair in pairs))
        else:
            kv = ctx.cache.extend(index, target_kv, ctx.source_kv)
        attended = self.attention.out(self.attention.mix(query, kv, ctx.mask.joint), ctx.tokens)
        x = self.attention_residual.after(x, attended, ctx.tokens)
        return self._feed_forward(x, ctx.tokens)

    def _feed_forward(self, x: Tensor, context: TokenContext) -> Tensor:
        output = self.feed_forward(self.feed_forward_residual.before(x, context), context)
        return self.feed_forward_residual.after(x, output, context)
