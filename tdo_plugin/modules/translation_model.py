"""Embeddings around a stack: tokens in, logits out.

Shapes: B sentences, R = B * beams rows, S source, T target, D model width, V vocabulary.
"""

import math
from collections.abc import Collection

import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.masks import target_mask
from tdo_plugin.modules.positions import count_positions
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.stack import DecoderOnlyStack, EncoderDecoderStack, SourceState
from tdo_plugin.modules.target_cache import TargetCache


class TranslationModel(nn.Module):
    """A model of the family, for any topology.

    Source positions never look at target positions, so the source is computed first and alone,
    once for each sentence; the target then reads its keys and values layer by layer. This equals
    one pass over the concatenation [source ; target] with a mask.

    Args:
        spec: the numbers.
        stack: the layers.
        source_embedding: (V_source, D), may be the same object as ``target_embedding``.
        target_embedding: (V_target, D).
        output_projection: D to V_target.
        source_positions: vectors for the source's positions.
        target_positions: vectors for the target's positions, may be the same object.
    """

    def __init__(
        self,
        spec: ModelSpec,
        stack: DecoderOnlyStack | EncoderDecoderStack,
        source_embedding: nn.Embedding,
        target_embedding: nn.Embedding,
        output_projection: nn.Linear,
        source_positions: nn.Module,
        target_positions: nn.Module,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.stack = stack
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.output_projection = output_projection
        self.source_positions = source_positions
        self.target_positions = target_positions
        self.dropout = nn.Dropout(spec.dropout)
        assert source_embedding.padding_idx is not None
        self.padding_idx: int = source_embedding.padding_idx

    def encode(
        self, src_tokens: Tensor, wanted: Collection[int] = (), states_only: bool = False
    ) -> SourceState:
        """The source stream of ``src_tokens`` (B, S), padded on either side.

        Args:
            src_tokens: token ids.
            wanted: layers, from 1, whose outputs are kept in the state.
            states_only: stop after the last wanted layer; nothing can be decoded from the result.
        """
        padding = src_tokens.eq(self.padding_idx)
        positions = count_positions(padding, self.padding_idx)
        embedded = self._embed(
            src_tokens, positions, src_tokens.size(1), self.source_embedding, self.source_positions
        )
        return self.stack.source(embedded, padding, wanted, states_only)

    def decode(
        self, prev_output_tokens: Tensor, source: SourceState, cache: TargetCache | None = None
    ) -> Tensor:
        """The target stream: features (R, T, D) after the last layer.

        Args:
            prev_output_tokens: token ids (R, P), the shifted target.
            source: of B sentences, each shared by ``source.beams`` rows.
            cache: where the target so far waits; then only what it does not hold yet is computed,
                T = P - ``cache.length``.
        """
        padding = prev_output_tokens.eq(self.padding_idx)
        positions = count_positions(padding, self.padding_idx)
        longest = prev_output_tokens.size(1)
        if self.spec.positions == "continuous":
            lengths = (~source.padding).sum(1).repeat_interleave(source.beams)
            positions = positions + lengths[:, None] * ~padding
            longest += source.padding.size(1)
        start = 0 if cache is None else cache.length
        if cache is not None:
            cache.begin(padding[:, start:])
        new = prev_output_tokens[:, start:]
        embedded = self._embed(
            new, positions[:, start:], longest, self.target_embedding, self.target_positions
        )
        mask = target_mask(source.padding, new.size(1), padding)
        return self.stack.target(embedded, source, mask, cache)

    def logits(self, features: Tensor) -> Tensor:
        """(..., D) to (..., V)."""
        scores: Tensor = self.output_projection(features)
        return scores

    def new_cache(self) -> TargetCache:
        """An empty cache for incremental decoding."""
        return TargetCache(len(self.stack.target_layers))

    def _embed(
        self,
        tokens: Tensor,
        positions: Tensor,
        longest: int,
        embedding: nn.Embedding,
        position_vectors: nn.Module,
    ) -> Tensor:
        scaled = F.embedding(tokens, embedding.weight, embedding.padding_idx)
        scaled = scaled * math.sqrt(self.spec.model_dim)
        embedded: Tensor = self.dropout(scaled + position_vectors(positions, longest).to(scaled))
        return embedded
