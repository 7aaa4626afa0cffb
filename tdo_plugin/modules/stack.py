"""The stack of layers of the source and target streams, in two topologies.

Shapes: B sentences, R = B * beams rows, S source, T target, D model width, N tokens of a packed
batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention import by_head
from tdo_plugin.modules.layer import DecoderContext, JointLayer, TargetLayer
from tdo_plugin.modules.masks import SourceMask, TargetMask
from tdo_plugin.modules.packed_batch import PackedBatch, Segment
from tdo_plugin.modules.segment_tokens import EmbeddedTarget
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.target_store import TargetStore
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class Parts(nn.Sequential):
    """Modules applied in order, each called with the context of the tokens."""

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D)."""
        for part in self:
            x = part(x, context)
        return x


class NormRows(NamedTuple):
    """The extra row of language-aware norms for source or target tokens in joint layers.

    None: the row of the token's language.
    """

    source: int | None = None
    target: int | None = None


def _with_norm_row(context: TokenContext, row: int | None) -> TokenContext:
    """The context with the same norm row for all tokens; None leaves the rows unchanged."""
    if row is None or context.norm is None:
        return context
    return replace(context, norm=torch.full_like(context.norm, row))


class Stack(nn.Module):
    """The parts that both topologies share: the target's layers and the end of the source's stage.

    Attributes:
        reads_whole: whether the target reads the output of the source's last layer (otherwise only
            its keys and values, which are made of the layer's input).
    """

    norm_rows = NormRows()
    reads_whole = False

    def __init__(
        self, bridge: Parts, output_block: Parts, causal_source: bool, whole_layers: bool = False
    ) -> None:
        """
        Args:
            bridge: applied to the source where the target enters (final norm, adaptation, language
                transformation).
            output_block: applied to the target after the last layer (adaptation, final norm).
            causal_source: whether source positions see only earlier ones.
            whole_layers: compute the last layer at all positions even if few are requested.
        """
        super().__init__()
        self.bridge = bridge
        self.output_block = output_block
        self.causal_source = causal_source
        self.whole_layers = whole_layers

    @property
    def target_layers(self) -> Sequence[TargetLayer]:
        """The layers of the target, in order."""
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    @property
    def every_layer(self) -> list[TargetLayer]:
        """All layers, of source and target, each once."""
        return [part for part in self.modules() if isinstance(part, TargetLayer)]

    def separate_layers(self) -> list[nn.Module]:
        """All layers; from now on nothing outside a layer's call needs its parameters."""
        layers = self.every_layer
        for layer in layers:
            layer.separate = True
        return [*layers]

    @property
    def source_layers(self) -> int:
        """The number of layers that a source can pass."""
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    def segments(
        self,
        requests: Sequence[SourceRequest],
        masks: Sequence[SourceMask],
        contexts: Sequence[TokenContext],
    ) -> list[Segment]:
        """Segments for a packed batch.

        Args:
            requests: the sources and the outputs to compute.
            masks: of each source, (B, S).
            contexts: of the tokens of each source, (B, 1) or (B, S).

        Raises:
            ValueError: a request is empty, or captures tensors of a source that no target reads.
        """
        return [self._segment(*each) for each in zip(requests, masks, contexts, strict=True)]

    def source(self, embedded: Tensor, segments: Sequence[Segment]) -> list[SourceState]:
        """Pass sources through the layers as one packed batch.

        Args:
            embedded: (N, D), the sources concatenated.
            segments: in the same order.
        """
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    def target(
        self,
        x: Tensor,
        source: SourceState,
        mask: TargetMask,
        context: TokenContext = NO_CONTEXT,
        cache: TargetStore | None = None,
    ) -> Tensor:
        """Pass the target (R, T, D) through all its layers.

        Args:
            x: (R, T, D).
            source: state of the sentences' sources.
            mask: visibility for the target's queries.
            context: of the target tokens, broadcastable to (R, T).
            cache: earlier target positions in incremental decoding.
        """
        context = _with_norm_row(context, self.norm_rows.target)
        ctx = DecoderContext(source.source_kv, mask, context, cache)
        for index, layer in enumerate(self.target_layers):
            x = layer(partial(layer.target, ctx=ctx, index=index), x)
        output: Tensor = self.output_block(x, context)
        return output

    def both(
        self, embedded: Tensor, segments: Sequence[Segment], target: EmbeddedTarget
    ) -> tuple[list[SourceState], Tensor]:
        """:meth:`source`, together with :meth:`target` for a whole target (B, T, D).

        Args:
            embedded: as for :meth:`source`.
            segments: as for :meth:`source`.
            target: of the first source's sentences.
        """
        states = self.source(embedded, segments)
        return states, self.target(target.x, states[0], target.mask, target.context)

    def readout(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """The source's last states (B, S, D) in the form that the output projection reads.

        Args:
            x: the output of the last source layer.
            context: of the sentences, (B,).
        """
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    def _segment(self, request: SourceRequest, mask: SourceMask, context: TokenContext) -> Segment:
        if not (request.layer_outputs or request.token_states or request.source_kv):
            raise ValueError("a source request must name at least one output")
        if request.capture and not request.source_kv:
            raise ValueError("tensors can be captured only from a source that a target reads")
        token_layers = {layer for layer, _ in request.token_states}
        wanted_layers = {*request.layer_outputs, *token_layers}
        last = self.source_layers if request.source_kv else max(wanted_layers)
        needed = {*request.layer_outputs, *(token_layers if self.whole_layers else ())}
        whole = last in needed or (request.source_kv and self.reads_whole)
        return Segment(request, mask, _with_norm_row(context, self.norm_rows.source), last, whole)


class DecoderOnlyStack(Stack):
    """L joint layers; the target enters at layer M (0: plain decoder-only; otherwise two-stage)."""

    def __init__(
        self,
        layers: Sequence[JointLayer],
        target_layer: int,
        bridge: Parts,
        output_block: Parts,
        causal_source: bool,
        whole_layers: bool = False,
        norm_rows: NormRows | None = None,
    ) -> None:
        super().__init__(bridge, output_block, causal_source, whole_layers)
        self.layers = nn.ModuleList(layers)
        self.target_layer = target_layer
        self.norm_rows = norm_rows or NormRows()

    @property
    def target_layers(self) -> Sequence[JointLayer]:
        return [layer for layer in self.layers[self.target_layer :]]  # type: ignore[misc]

    @property
    def source_layers(self) -> int:
        return len(self.layers)

    def source(self, embedded: Tensor, segments: Sequence[Segment]) -> list[SourceState]:
        batch = PackedBatch(embedded, segments)
        self._first_stage(batch)
        self._second_stage(batch)
        return [segment.state for segment in segments]

    def both(
        self, embedded: Tensor, segments: Sequence[Segment], target: EmbeddedTarget
    ) -> tuple[list[SourceState], Tensor]:
        """As :meth:`Stack.both`; the target is appended to the first source's segment."""
        first = segments[0]
        batch = PackedBatch(embedded, segments)
        self._first_stage(batch)
        first.keeps_kv = False  # the target reads them in this pass
        target = self._with_norm_row(target)
        self._second_stage(batch, {first: target})
        output: Tensor = self.output_block(first.target_output, target.context)
        return [segment.state for segment in segments], output

    def readout(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """As :meth:`Stack.readout`: applies the output block."""
        features: Tensor = self.output_block(x, context[:, None])
        return features

    def _with_norm_row(self, target: EmbeddedTarget) -> EmbeddedTarget:
        """The target with the row of language-aware norms of each token."""
        return target._replace(context=_with_norm_row(target.context, self.norm_rows.target))

    def _first_stage(self, batch: PackedBatch) -> None:
        """The layers of the source alone, and the bridge."""
        for number, layer in enumerate(self.layers[: self.target_layer], start=1):
            batch.pass_layer(layer, number)
        batch.enter_target_layers(self.target_layer)
        if batch.segments:
            batch.x = self.bridge(batch.x, batch.context)

    def _second_stage(
        self, batch: PackedBatch, targets: Mapping[Segment, EmbeddedTarget] | None = None
    ) -> None:
        """The layers of both streams; sources without a target may have its first symbol."""
        entering = {
            segment: self._with_norm_row(segment.first_symbol)
            for segment in batch.segments
            if segment.first_symbol is not None
        }
        entering.update(targets or {})
        if entering:
            batch.append_targets(entering)
        for number, layer in enumerate(self.target_layers, start=self.target_layer + 1):
            batch.pass_layer(layer, number)


class EncoderDecoderStack(Stack):
    """N encoder layers, and N' decoder layers with separate weights."""

    reads_whole = True

    def __init__(
        self,
        encoder_layers: Sequence[JointLayer],
        decoder_layers: Sequence[TargetLayer],
        bridge: Parts,
        output_block: Parts,
        causal_source: bool,
        whole_layers: bool = False,
    ) -> None:
        super().__init__(bridge, output_block, causal_source, whole_layers)
        self.encoder_layers = nn.ModuleList(encoder_layers)
        self.decoder_layers = nn.ModuleList(decoder_layers)

    @property
    def target_layers(self) -> Sequence[TargetLayer]:
        return [layer for layer in self.decoder_layers]  # type: ignore[misc]

    @property
    def source_layers(self) -> int:
        return len(self.encoder_layers)

    def source(self, embedded: Tensor, segments: Sequence[Segment]) -> list[SourceState]:
        """As :meth:`Stack.source`; layer indices count encoder layers.

        Token states of the last layer are the encoder's output, as the decoder reads it.
        """
        batch = PackedBatch(embedded, segments)
        for number, layer in enumerate(self.encoder_layers, start=1):
            batch.pass_layer(layer, number)
        for segment in segments:
            segment.pass_tokens(self.source_layers, self.bridge)
        self._project_kv(batch)
        return [segment.state for segment in segments]

    def readout(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """As :meth:`Stack.readout`: applies the bridge, as for the decoder."""
        features: Tensor = self.bridge(x, context[:, None])
        return features

    def _project_kv(self, batch: PackedBatch) -> None:
        """Keys and values of the encoder's output, for each decoder layer."""
        for segment, x in batch.views():
            if segment.request.source_kv:
                final = self.bridge(x, segment.context)
                every = [
                    layer(partial(layer.project_kv, context=segment.context), final)
                    for layer in self.target_layers
                ]
                segment.kept.source_kv.extend(
                    every if torch.is_grad_enabled() else map(by_head, every)
                )
