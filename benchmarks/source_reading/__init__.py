"""Why two-stage models learn slowly at first: variants of how the second stage reads the source.

In the second stage of a TDO model, one set of attention weights has three uses: attention within
the source, attention to the target's history, and attention from target to source. This experiment
gives the last one separate weights, or a separate sublayer; an encoder-decoder's cross-attention
has both.

A ``--user-dir`` for fairseq: ``--arch tdo_source_reading`` is ``tdo_transformer_small`` with the
variant named in the environment variable ``SOURCE_READING``. Only for training: it cannot decode.
"""

import os
from argparse import Namespace
from typing import NamedTuple

from fairseq.models import register_model, register_model_architecture
from speed.reference_ops import ReferenceBuilder
from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.models.presets import PRESETS, fill
from tdo_plugin.models.tdo_transformer import TdoTransformer
from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.builder import BOTH
from tdo_plugin.modules.layer import DecoderContext, FeedForward, JointLayer, Residual
from tdo_plugin.modules.packed_batch import PackedBatch
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class Reading(NamedTuple):
    """Projections separate from self-attention, and whether reading follows self-attention."""

    own: tuple[str, ...]
    after: bool


ALL = ("query", "key", "value", "out")
READINGS = {
    "shared-beside": Reading((), False),
    "query-beside": Reading(("query",), False),
    "key-value-beside": Reading(("key", "value"), False),
    "query-key-value-beside": Reading(("query", "key", "value"), False),
    "own-beside": Reading(ALL, False),
    "shared-after": Reading((), True),
    "own-after": Reading(ALL, True),
}


class ReadingLayer(JointLayer):
    """A joint layer whose target reads the source in a separate softmax.

    Shapes as in :mod:`tdo_plugin.modules.layer`.
    """

    def __init__(
        self,
        attention: MultiheadAttention,
        reading: MultiheadAttention,
        after: bool,
        feed_forward: FeedForward,
        attention_residual: Residual,
        reading_residual: Residual,
        feed_forward_residual: Residual,
    ) -> None:
        super().__init__(attention, feed_forward, attention_residual, feed_forward_residual)
        self.reading = reading
        self.reading_residual = reading_residual if after else None

    def packed(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Process a source alone; keeps the keys and values for reading."""
        ((segment, source),) = batch.views()
        kv = self.project_kv(source, segment.context)
        x = super().packed(x, batch)
        if segment.kept.source_kv:
            segment.kept.source_kv[-1] = kv
        return x

    def project_kv(self, source: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        return self.reading.keys_values(self.attention_residual.before(source, context))

    def target(self, x: Tensor, ctx: DecoderContext, index: int) -> Tensor:
        context, mask, source_kv = ctx.tokens, ctx.mask, ctx.source_kv[index]
        normed = self.attention_residual.before(x, context)
        target_kv = self.attention.keys_values(normed)
        attended = self.attention.attend(normed, target_kv, mask.over_target)
        if self.reading_residual is None:
            read = self.reading.attend(normed, source_kv, mask.over_source)
            x = self.attention_residual.after(x, attended + read, context)
        else:
            x = self.attention_residual.after(x, attended, context)
            normed = self.reading_residual.before(x, context)
            read = self.reading.attend(normed, source_kv, mask.over_source)
            x = self.reading_residual.after(x, read, context)
        return self._feed_forward(x, context)


class ReadingBuilder(ReferenceBuilder):
    """Builds reading layers above the target's entry, with sequential streams."""

    def __init__(self, spec: ModelSpec, padding_idx: int) -> None:
        super().__init__(spec, padding_idx, ops=("streams",))

    def second_stage_layer(self, number: int) -> ReadingLayer:
        reading = READINGS[variant()]
        attention, reading_attention = self.attention(), self.attention()
        for name in set(ALL) - set(reading.own):
            setattr(reading_attention, name, getattr(attention, name))
        feed_forward = self.feed_forward(self.spec.stage2_ffn_dim)
        residuals = [self.residual(BOTH) for _ in range(3)]
        return ReadingLayer(attention, reading_attention, reading.after, feed_forward, *residuals)


def variant() -> str:
    """The variant named in ``SOURCE_READING``.

    Raises:
        UserError: an unknown variant.
    """
    name = os.environ.get("SOURCE_READING", "")
    if name not in READINGS:
        raise UserError(f"`SOURCE_READING` must be one of {', '.join(READINGS)}; it is {name!r}")
    return name


@register_model("tdo_source_reading")
class SourceReading(TdoTransformer):
    """A TDO model with :class:`ReadingLayer` in its second stage."""

    builder = ReadingBuilder


@register_model_architecture("tdo_source_reading", "tdo_source_reading")
def small(args: Namespace) -> None:
    """The small preset."""
    fill(args, PRESETS["tdo_transformer_small"])
