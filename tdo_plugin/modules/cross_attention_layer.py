"""A decoder layer that reads the source by cross-attention.

Shapes: B sentences, R = B * beams rows, T target, D model width.
"""

from torch import Tensor

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.layer import DecoderContext, FeedForward, Residual, TargetLayer
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class CrossAttentionLayer(TargetLayer):
    """Self-attention, cross-attention to the encoder output, FFN (encoder-decoder models)."""

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
        attended = self.attention.out(self.attention.mix(query, kv, mask.over_target), context)
        x = self.attention_residual.after(x, attended, context)

        normed = self.cross_attention_residual.before(x, context)
        source_kv = ctx.source_kv[index]
        attended = self.cross_attention.attend(normed, source_kv, mask.over_source, context)
        x = self.cross_attention_residual.after(x, attended, context)

        output = self.feed_forward(self.feed_forward_residual.before(x, context), context)
        return self.feed_forward_residual.after(x, output, context)
