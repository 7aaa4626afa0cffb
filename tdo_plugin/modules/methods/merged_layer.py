"""A decoder layer that merges self- and cross-attention (MATT).

Shapes: B sentences, R = B * beams rows, T target, D model width.
"""

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.layer import DecoderContext, FeedForward, Residual, TargetLayer
from tdo_plugin.modules.methods.running_sums import RunningSums
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class MergedAttentionLayer(TargetLayer):
    """Merged attention and FFN (Zhang, Titov and Sennrich, 2019).

    The target attends to the source as in cross-attention. Before the output projection, the mean
    of the target's own values so far is added, computed with the same value projection; the mean
    has no heads, weights or dropout.
    """

    store = RunningSums

    def __init__(
        self,
        merged_attention: MultiheadAttention,
        feed_forward: FeedForward,
        attention_residual: Residual,
        feed_forward_residual: Residual,
    ) -> None:
        super().__init__()
        self.merged_attention = merged_attention
        self.feed_forward = feed_forward
        self.attention_residual = attention_residual
        self.feed_forward_residual = feed_forward_residual

    def project_kv(self, source: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        return self.merged_attention.keys_values(source, context)

    def target(self, x: Tensor, ctx: DecoderContext, index: int) -> Tensor:
        context, mask = ctx.tokens, ctx.mask
        normed = self.attention_residual.before(x, context)
        query, values = self.merged_attention.queries_values(normed, context)
        read = self.merged_attention.mix(query, ctx.source_kv[index], mask.over_source)
        if ctx.cache is None:
            merged = read + mean_of_visible(values, mask.target[:, 0])
        else:
            merged = read + ctx.cache.mean(index, values)
        attended = self.merged_attention.out(merged, context)
        x = self.attention_residual.after(x, attended, context)

        output = self.feed_forward(self.feed_forward_residual.before(x, context), context)
        return self.feed_forward_residual.after(x, output, context)


def mean_of_visible(values: Tensor, visible: Tensor) -> Tensor:
    """For each query the mean of the values that it may see, (B, T, D).

    Computed as a product with the matrix of shares, which on a CPU takes a third to a quarter of
    the time of cumulative sums (forward and backward), whose backward pass flips the tensor twice.

    Args:
        values: (B, T, D).
        visible: boolean (B, T, T), true at least once for each query.
    """
    wide = torch.promote_types(values.dtype, torch.float32)
    shares = visible.to(wide) / visible.sum(-1, keepdim=True)
    return shares.to(values.dtype) @ values
