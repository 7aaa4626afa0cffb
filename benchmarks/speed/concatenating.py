"""The baseline: a decoder-only or two-stage model, computed as one joint sequence under one mask.

It has the parameters of :class:`TdoTransformer`, with the same names, and gives the same results.
Every layer from the target's entry on, including the last, runs over the whole [source ; target];
in a search, each beam has its own copy of the source, which the first step computes.

Shapes: B sentences, R rows (B in training, B * beams in a search), S source, P target positions so
far, T new target positions, L = S + P, D model width, H heads, E head width, V vocabulary.
"""

from argparse import Namespace
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.models import register_model, register_model_architecture
from torch import Tensor

from speed.reference_ops import ReferenceBuilder
from tdo_plugin.errors import UserError
from tdo_plugin.models.presets import PRESETS, fill
from tdo_plugin.models.tdo_transformer import SourceStream, TargetStream, TdoTransformer
from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.layer import JointLayer
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.translation_model import TranslationModel, count_positions

MODEL_NAME = "concatenating_transformer"
PAST = "concatenating_past"  # key of the layers' keys and values in the incremental state


def visibility(
    padding: Tensor,
    source: int,
    causal_source: bool,
    first: int = 0,
    source_sees_start: bool = False,
) -> Tensor:
    """The attention mask of a joint sequence.

    Args:
        padding: boolean (R, L), true at padding.
        source: S, the number of source positions.
        causal_source: also hide later source positions from the source.
        first: the first query position.
        source_sees_start: whether source positions attend to the first target symbol, as in the
            authors' code.

    Returns:
        boolean (R, 1, L - first, L), true where attention is allowed; each position attends to
        itself, so that no row of a softmax is empty.
    """
    length = padding.size(1)
    square = torch.ones(length, length, dtype=torch.bool, device=padding.device).tril()
    if not causal_source:
        square[:source, :source] = True
    itself = torch.eye(length, dtype=torch.bool, device=padding.device)
    visible = (square[first:] & ~padding[:, None, None, :]) | itself[first:]
    if source_sees_start and first < source:
        real = ~padding[:, source:]
        symbol = real & real.cumsum(1).eq(1)
        visible[:, :, : source - first, source:] = symbol[:, None, None, :]
    return visible


def through(
    layer: JointLayer, x: Tensor, mask: Tensor, past: KeyValue | None = None
) -> tuple[Tensor, KeyValue]:
    """Apply one layer to a sequence, or to its new positions after the past ones.

    Args:
        layer: the layer with the parameters.
        x: (R, T, D), all positions if there is no past.
        mask: boolean (R, 1, T, L).
        past: keys and values (R, H, L - T, E).

    Returns:
        the layer's output (R, T, D), and keys and values (R, H, L, E) including the past.
    """
    attention = layer.attention
    normed = layer.attention_residual.before(x).flatten(0, 1)
    ((query, memory),) = attention.queries_keys_values(normed, [(x.size(0), x.size(1))])
    if past is not None:
        memory = KeyValue(*(torch.cat(parts, 2) for parts in zip(past, memory, strict=True)))
    mixed = F.scaled_dot_product_attention(
        query, *memory, attn_mask=mask, dropout_p=attention.dropout_rate
    )
    x = layer.attention_residual.after(x, attention.out(mixed.transpose(1, 2).flatten(2)))
    output = layer.feed_forward(layer.feed_forward_residual.before(x))
    return layer.feed_forward_residual.after(x, output), memory


@dataclass(frozen=True)
class FirstStage:
    """A source after the layers below the target's entry.

    Attributes:
        x: (R, S, D).
        padding: boolean (R, S), true at padding.
        states: outputs (B, S, D) of the requested layers, by index from 1.
    """

    x: Tensor
    padding: Tensor
    states: dict[int, Tensor] = field(default_factory=dict)

    def reorder(self, rows: Tensor) -> "FirstStage":
        """The selected rows, as indices (R') of the present rows."""
        return FirstStage(self.x.index_select(0, rows), self.padding.index_select(0, rows))


class SourceAlone(SourceStream):
    """fairseq's encoder: applies the layers below the target's entry to the embedded source."""

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        src_lang_id: Tensor | None = None,
        tgt_lang_id: Tensor | None = None,
        source_layer_outputs: Collection[int] = (),
    ) -> FirstStage:
        """Encode the source (B, S); lengths and language ids are unused."""
        core, length = self.core, src_tokens.size(1)
        padding = src_tokens.eq(core.padding_idx)
        positions = count_positions(padding, core.padding_idx)
        x = core._embed(
            core.embeddings.source_vectors(src_tokens), core.source_positions(positions, length)
        )
        mask = visibility(padding, length, core.spec.source_attention == "causal")
        states: dict[int, Tensor] = {}
        for index, layer in enumerate(core.stack.layers[: core.spec.target_layer], start=1):
            x, _ = through(layer, x, mask)
            if index in source_layer_outputs:
                states[index] = x
        return FirstStage(core.stack.bridge(x), padding, states)

    def reorder_encoder_out(self, encoder_out: FirstStage, new_order: Tensor) -> FirstStage:
        return encoder_out.reorder(new_order)


class JointSequence(TargetStream):
    """fairseq's decoder: applies the remaining layers to [source ; target], up to logits."""

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: FirstStage,
        incremental_state: dict[str, Any] | None = None,
        features_only: bool = False,
        source_layer_outputs: Collection[int] = (),
    ) -> tuple[Tensor, dict[str, Any]]:
        """Logits (R, T, V) of all positions, or of those missing from the incremental state."""
        core, source = self.core, encoder_out.padding.size(1)
        past: dict[int, KeyValue] = {}
        if incremental_state is not None:
            past = incremental_state.setdefault(PAST, past)
        done = next(iter(past.values())).key.size(2) if past else 0
        padding = torch.cat([encoder_out.padding, prev_output_tokens.eq(core.padding_idx)], 1)
        causal, sees_start = core.spec.source_attention == "causal", core.spec.source_sees_start
        mask = visibility(padding, source, causal, done, sees_start)
        new = self._embedded(prev_output_tokens, padding, max(done - source, 0))
        x = new if past else torch.cat([encoder_out.x, new], 1)
        states = dict(encoder_out.states)
        entry = core.spec.target_layer
        for index, layer in enumerate(core.stack.layers[entry:], start=entry + 1):
            x, past[index] = through(layer, x, mask, past.get(index))
            if index in source_layer_outputs:
                states[index] = x[:, :source]
        features = core.stack.output_block(x[:, -new.size(1) :])
        output = features if features_only else core.logits(features)
        return output, {"attn": [None], "source_layer_outputs": states}

    def _embedded(self, tokens: Tensor, joint_padding: Tensor, start: int) -> Tensor:
        """Embedded target positions from ``start`` on, (R, T, D)."""
        core, length = self.core, tokens.size(1)
        continuous = core.spec.positions == "continuous"
        counted = joint_padding if continuous else joint_padding[:, -length:]
        positions = count_positions(counted, core.padding_idx)[:, -length:]
        table = core.source_positions if core.target_positions is None else core.target_positions
        return core._embed(
            core.embeddings.target_vectors(tokens[:, start:]),
            table(positions[:, start:], counted.size(1)),
        )

    def reorder_incremental_state_scripting(
        self, incremental_state: dict[str, Any], new_order: Tensor
    ) -> None:
        past = incremental_state.get(PAST, {})
        for index, memory in past.items():
            past[index] = KeyValue(*(part.index_select(0, new_order) for part in memory))


@register_model(MODEL_NAME)
class ConcatenatingTransformer(TdoTransformer):
    """Every decoder-only model of :class:`TdoTransformer`, with the same options and parameters.

    Raises:
        UserError: encoder-decoders, which have nothing to concatenate, language-specific modules,
            and modules for the source only are not supported.
    """

    @classmethod
    def builder_of(cls, args: Namespace) -> Callable[[ModelSpec, int], Builder]:
        """Search with the weights in their training layout."""
        return partial(ReferenceBuilder, ops=("weights",))

    def __init__(self, encoder: SourceStream, decoder: TargetStream) -> None:
        core: TranslationModel = encoder.core
        if core.spec.topology != "decoder-only":
            raise UserError(
                "`--tdo-topology` must be decoder-only for the concatenating baseline; it is "
                f"{core.spec.topology}"
            )
        for name, part in core.spec.needing("languages", "pairs", "both languages").items():
            raise UserError(
                f"`{part.flag}` must be {part.off or 'empty'} for the concatenating baseline; it "
                f"is {getattr(core.spec, name)}"
            )
        if core.spec.position_embedding == "rotary":
            raise UserError(
                "`--tdo-position-embedding` must not be rotary for the concatenating baseline; it "
                "is rotary"
            )
        if core.spec.cut_residual or core.spec.tpdm_layer:
            raise UserError(
                "`--tdo-cut-residual` and `--tdo-tpdm-layer` must be 0 for the concatenating "
                f"baseline; they are {core.spec.cut_residual} and {core.spec.tpdm_layer}"
            )
        super().__init__(
            SourceAlone(encoder.dictionary, core), JointSequence(decoder.dictionary, core)
        )

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        prev_output_tokens: Tensor | None = None,
        src_lang_id: Tensor | None = None,
        tgt_lang_id: Tensor | None = None,
        source_layer_outputs: Collection[int] = (),
    ) -> tuple[Tensor, dict[str, Any]]:
        """Logits (B, T, V), and the requested states.

        Args:
            src_tokens: (B, S).
            src_lengths: unused, as lengths follow from padding.
            prev_output_tokens: (B, T), the shifted target.
            src_lang_id: unused.
            tgt_lang_id: unused.
            source_layer_outputs: layers, counted from 1, to return source outputs (B, S, D) of, in
                the extra dictionary under ``source_layer_outputs``.
        """
        source = self.encoder(src_tokens, source_layer_outputs=source_layer_outputs)
        return self.decoder(
            prev_output_tokens, encoder_out=source, source_layer_outputs=source_layer_outputs
        )


def _register(preset: str, name: str) -> None:
    @register_model_architecture(MODEL_NAME, name)
    def architecture(args: Namespace) -> None:
        fill(args, PRESETS[preset])


for _preset, _row in PRESETS.items():
    if "tdo_encoder_layers" not in _row:
        _register(_preset, _preset.replace("tdo", "concatenating", 1))
