"""Embeddings around a stack: tokens in, logits out.

Shapes: B sentences, R = B * beams rows, S source, T target, D model width, V vocabulary.
"""

import math
from collections.abc import Collection, Sequence

import torch
from torch import Tensor, nn

from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.embeddings import Embeddings
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.linear_cross_entropy import linear_cross_entropy
from tdo_plugin.modules.masks import SourceMask, target_mask
from tdo_plugin.modules.positions import count_positions
from tdo_plugin.modules.source_state import Reading, SourceState
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.stack import DecoderOnlyStack, EncoderDecoderStack
from tdo_plugin.modules.target_cache import TargetCache


class TranslationModel(nn.Module):
    """A model of the family, for any topology.

    Source positions never look at target positions, so the source is computed first and alone,
    once for each sentence; the target then reads its keys and values layer by layer. This equals
    one pass over the concatenation [source ; target] with a mask.

    Args:
        spec: the numbers.
        stack: the layers.
        embeddings: of tokens, and the output projection.
        source_positions: vectors for the source's positions.
        target_positions: vectors for the target's positions; None where both share one table.
        dropout: on what is embedded.
    """

    def __init__(
        self,
        spec: ModelSpec,
        stack: DecoderOnlyStack | EncoderDecoderStack,
        embeddings: Embeddings,
        source_positions: nn.Module,
        target_positions: nn.Module | None,
        dropout: PlainDropout,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.stack = stack
        self.embeddings = embeddings
        self.source_positions = source_positions
        self.target_positions = target_positions
        self.dropout = dropout
        assert embeddings.source.padding_idx is not None
        self.padding_idx: int = embeddings.source.padding_idx

    def encode(self, src_tokens: Tensor, wanted: Collection[int] = ()) -> SourceState:
        """The source stream of ``src_tokens`` (B, S), padded on either side.

        Args:
            src_tokens: token ids.
            wanted: layers, from 1, whose outputs are kept in the state.
        """
        return self.read([Reading(src_tokens, wanted)])[0]

    def read(self, readings: Sequence[Reading]) -> list[SourceState]:
        """Several source streams, side by side in every layer that they pass together."""
        if "sources" in self.spec.plain and len(readings) > 1:
            return [self.read([one])[0] for one in readings]
        masks = [self._source_mask(one.tokens) for one in readings]
        # looked up in one go, since each look-up has a gradient of the whole vocabulary's size
        tokens = torch.cat([one.tokens.flatten() for one in readings])
        counted = [count_positions(mask.padding, self.padding_idx).flatten() for mask in masks]
        longest = max(one.tokens.size(1) for one in readings)
        vectors = self.source_positions(torch.cat(counted), longest)
        embedded = self._embed(self.embeddings.source_vectors(tokens), vectors)
        return self.stack.source(embedded, masks, readings)

    def decode(
        self, prev_output_tokens: Tensor, source: SourceState, cache: TargetCache | None = None
    ) -> Tensor:
        """The target stream: features (R, T, D) after the last layer.

        Args:
            prev_output_tokens: token ids (R, P), the shifted target; (B, P) where the rows of each
                sentence are all alike.
            source: of B sentences, each shared by ``source.beams`` rows.
            cache: where the target so far waits; then only what it does not hold yet is computed,
                T = P - ``cache.length``.
        """
        if cache is None and source.beams > 1:
            cache = self.new_cache(source.beams)
        padding = prev_output_tokens.eq(self.padding_idx)
        positions = count_positions(padding, self.padding_idx)
        longest = prev_output_tokens.size(1)
        if self.spec.positions == "continuous":
            rows = len(prev_output_tokens) // source.sentences
            lengths = (~source.padding).sum(1).repeat_interleave(rows)
            positions = positions + lengths[:, None] * ~padding
            longest += source.padding.size(1)
        start = 0 if cache is None else cache.length
        new = prev_output_tokens[:, start:]
        table = self.source_positions if self.target_positions is None else self.target_positions
        vectors = table(positions[:, start:], longest)
        embedded = self._embed(self.embeddings.target_vectors(new), vectors)
        if cache is not None:
            mask = cache.begin(target_mask(source.padding, new.size(1), padding))
        else:
            # padding on the right is later than every real query, so that causality hides it
            padded = "masks" in self.spec.plain or bool(source.padding.any() | padding[:, 0].any())
            mask = target_mask(source.padding, new.size(1), padding, padded)
        return self.stack.target(embedded, source, mask, cache)

    def logits(self, features: Tensor) -> Tensor:
        """(..., D) to (..., V)."""
        return self.embeddings.logits(features)

    def cross_entropy(
        self, features: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Label-smoothed loss and likelihood of ``target`` (R, T), summed, without all logits."""
        weight = self.embeddings.output_weight
        return linear_cross_entropy(features, weight, target, smoothing, self.padding_idx)

    def pack(self) -> None:
        """Lay the weights out for decoding."""
        if "weights" in self.spec.plain:
            return
        self.embeddings.pack()
        for part in self.stack.modules():
            if isinstance(part, Linear):
                part.pack()

    def new_cache(self, beams: int = 1) -> TargetCache:
        """An empty cache for incremental decoding with so many rows to a sentence."""
        return TargetCache(len(self.stack.target_layers), beams)

    def _source_mask(self, tokens: Tensor) -> SourceMask:
        padding = tokens.eq(self.padding_idx)
        padded = "masks" in self.spec.plain or bool(padding.any())
        return SourceMask(padding, padded, self.stack.causal_source)

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        scaled = tokens * math.sqrt(self.spec.model_dim)
        embedded: Tensor = self.dropout(scaled + positions.to(scaled))
        return embedded
