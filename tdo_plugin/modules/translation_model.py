"""Embeddings and a stack: from tokens to logits.

Shapes: B sentences, R = B * beams rows, S source, T target, D model width, V vocabulary.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from tdo_plugin.modules.embeddings import Embeddings
from tdo_plugin.modules.language_pairs import LanguagePairs
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.losses.linear_cross_entropy import linear_cross_entropy
from tdo_plugin.modules.masks import SourceMask, TargetMask, first_symbol, target_mask
from tdo_plugin.modules.methods.neuron_masks import NeuronMasks
from tdo_plugin.modules.packed_batch import Segment
from tdo_plugin.modules.segment_tokens import EmbeddedTarget
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.stack import DecoderOnlyStack, EncoderDecoderStack
from tdo_plugin.modules.target_store import TargetStore
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class TranslationModel(nn.Module):
    """A translation model, of either topology.

    Source positions never attend to target positions, so the source can be computed first and
    alone (:meth:`encode`), once per sentence; the target then reads its keys and values layer by
    layer (:meth:`decode`). This equals one pass over the concatenation [source ; target] with a
    mask. If the whole target is known, both pass as one packed batch (:meth:`forward`).

    With ``source_sees_start``, sources also attend to the first target symbol, which is always the
    same: a source that is computed alone has it appended where the target would enter.

    Args:
        spec: the numbers.
        stack: the layers.
        embeddings: of tokens, and the output projection.
        source_positions: embeddings of source positions.
        target_positions: embeddings of target positions; None if both share a table.
        dropout: applied to the embedded tokens.
    """

    def __init__(
        self,
        spec: ModelSpec,
        stack: DecoderOnlyStack | EncoderDecoderStack,
        embeddings: Embeddings,
        source_positions: nn.Module,
        target_positions: nn.Module | None,
        dropout: nn.Module,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.stack = stack
        self.embeddings = embeddings
        self.source_positions = source_positions
        self.target_positions = target_positions
        self.dropout = dropout
        self.neurons: NeuronMasks | None = None  # if the model has neuron masks
        self.pairs: LanguagePairs | None = None  # if the model has parameters per pair
        self.quantised = False  # whether products are computed in 8-bit integers
        assert embeddings.source.padding_idx is not None
        self.padding_idx: int = embeddings.source.padding_idx
        # the first symbol of every target; fairseq's dictionaries have it after padding
        self.eos_idx = self.padding_idx + 1

    def encode(
        self,
        src_tokens: Tensor,
        layer_outputs: Collection[int] = (),
        context: TokenContext = NO_CONTEXT,
    ) -> SourceState:
        """Pass the source ``src_tokens`` (B, S), padded on either side, through its layers.

        Args:
            src_tokens: token ids.
            layer_outputs: layers, from 1, whose outputs to keep in the state.
            context: of the sentences, (B,).
        """
        return self.encode_all([SourceRequest(src_tokens, layer_outputs, context=context)])[0]

    def encode_all(self, requests: Sequence[SourceRequest]) -> list[SourceState]:
        """Encode several sources, as one packed batch in the layers that they share."""
        paddings = self._paddings(requests)
        positions = [count_positions(padding, self.padding_idx) for padding in paddings]
        padded = self._padded(*paddings)
        segments = self._segments(requests, paddings, positions, padded)
        vectors = self.embeddings.source_vectors(_flat(requests))
        embedded = self._embed(vectors, self._source_position_vectors(positions))
        self._add_first_symbols(segments)
        return self.stack.source(embedded, segments)

    def forward(
        self, requests: Sequence[SourceRequest], prev_output_tokens: Tensor
    ) -> tuple[list[SourceState], Tensor]:
        """Sources and a whole target, as one packed batch in the layers that they share.

        Args:
            requests: sources; the target belongs to the first.
            prev_output_tokens: token ids (B, T), the shifted target.

        Returns:
            the states of :meth:`encode_all` (keys and values of the first may be missing, since
            the target has already read them), and features (B, T, D) after the last layer, as
            from :meth:`decode`.

        Raises:
            ValueError: the first request is not for a source that a target reads.
        """
        if not requests[0].source_kv:
            raise ValueError("the first request must have source_kv, for the target to read")
        paddings, padding = self._paddings(requests), prev_output_tokens.eq(self.padding_idx)
        *padded, left = self._padded(*paddings, padding[:, 0])
        source_positions = [count_positions(padding, self.padding_idx) for padding in paddings]
        segments = self._segments(requests, paddings, source_positions, padded)
        mask = target_mask(paddings[0], padding.size(1), padding, padded[0] or left)
        source_vectors, target_vectors = self.embeddings.vectors(
            _flat(requests), prev_output_tokens.flatten()
        )
        embedded = self._embed(source_vectors, self._source_position_vectors(source_positions))
        vectors = target_vectors.view(*prev_output_tokens.shape, -1)
        target = self._embedded_target(vectors, padding, mask, requests[0].context, paddings[0])
        if self.spec.source_sees_start:
            target = target._replace(visible_target=first_symbol(padding, left))
        self._add_first_symbols(segments[1:])
        return self.stack.both(embedded, segments, target)

    def decode(
        self, prev_output_tokens: Tensor, source: SourceState, cache: TargetStore | None = None
    ) -> Tensor:
        """Decode the target: features (R, T, D) after the last layer.

        Args:
            prev_output_tokens: token ids (R, P), the shifted target; (B, P) if the rows of each
                sentence are identical.
            source: of B sentences, each shared by ``source.beams`` rows.
            cache: earlier target positions; then only later positions are computed,
                T = P - ``cache.length``.
        """
        if cache is None and source.beams > 1:
            cache = self.new_cache(source.beams)
        done = 0 if cache is None else cache.length
        new = prev_output_tokens[:, done:]
        padding = prev_output_tokens.eq(self.padding_idx)
        positions, longest = self._target_positions(padding, source.padding)
        positions = positions[:, done:]
        vectors = self._target_position_vectors(positions, longest)
        embedded = self._embed(self.embeddings.target_vectors(new), vectors)
        if cache is None:
            padded = any(self._padded(source.padding, padding[:, 0]))
            mask = target_mask(source.padding, new.size(1), padding, padded)
        else:
            mask = cache.begin(target_mask(source.padding, new.size(1), padding))
            if embedded.device.type == "cpu":
                mask = mask.as_numbers(embedded.dtype)
        context = source.context.repeat_interleave(len(new) // source.sentences)
        context = self._token_context(context, positions)
        return self.stack.target(embedded, source, mask, context, cache)

    def language_context(self, sources: Tensor | None, targets: Tensor) -> TokenContext:
        """The context of sentences (B,), for the parts that depend on languages.

        Args:
            sources: index of each sentence's source language (B,), from 0; None is enough unless
                parts depend on the pair.
            targets: index of each sentence's target language (B,), from 0.

        Raises:
            LookupError: a pair has no adapter; the message is its name.
        """
        context = TokenContext.of_targets(targets) if self.spec.language_aware else NO_CONTEXT
        if sources is not None and self.neurons is not None:
            context = replace(context, neurons=self.neurons(sources, targets))
        if sources is not None and self.pairs is not None:
            context = replace(context, pair=self.pairs(sources, targets))
        return context.counted() if self.spec.groups_tokens else context

    def logits(self, features: Tensor) -> Tensor:
        """(..., D) to (..., V)."""
        return self.embeddings.logits(features)

    def cross_entropy(
        self, features: Tensor, target: Tensor, smoothing: float, tokens: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Summed label-smoothed loss and NLL of ``target`` (R, T), without storing all logits.

        ``tokens`` is as for :func:`.linear_cross_entropy`.
        """
        weight = self.embeddings.output_weight
        return linear_cross_entropy(features, weight, target, smoothing, self.padding_idx, tokens)

    def pack(self) -> None:
        """Convert the weights to the layout for decoding; quantised weights already are."""
        for part in self._packable():
            part.pack()

    def unpack(self) -> None:
        """Free the memory of the decoding layout."""
        for part in self._packable():
            part.unpack()

    def _packable(self) -> list[Embeddings | Linear]:
        if self.quantised:
            return []
        linears = [part for part in self.stack.modules() if isinstance(part, Linear)]
        return [self.embeddings, *linears]

    def new_cache(self, beams: int = 1) -> TargetStore:
        """An empty cache for incremental decoding with ``beams`` rows per sentence."""
        layers = self.stack.target_layers
        return layers[0].store(len(layers), beams)

    def _embedded_target(
        self,
        vectors: Tensor,
        padding: Tensor,
        mask: TargetMask,
        context: TokenContext,
        source_padding: Tensor,
    ) -> EmbeddedTarget:
        """A whole target, to be appended to its source.

        Args:
            vectors: of its tokens, (B, T, D).
            padding: of the target, (B, T).
            mask: visibility for the target's queries.
            context: of the sentences, (B,).
            source_padding: (B, S).
        """
        positions, longest = self._target_positions(padding, source_padding)
        x = self._embed(vectors, self._target_position_vectors(positions, longest))
        return EmbeddedTarget(x, mask, self._token_context(context, positions))

    def _add_first_symbols(self, segments: Sequence[Segment]) -> None:
        """Append the first target symbol to each source, if sources see it."""
        if not self.spec.source_sees_start:
            return
        for segment in segments:
            request, source = segment.request, segment.mask
            tokens = request.tokens.new_full((segment.sentences, 1), self.eos_idx)
            padding = torch.zeros_like(tokens, dtype=torch.bool)
            mask = target_mask(source.padding, 1, padding, source.padded)
            vectors = self.embeddings.target_vectors(tokens)
            symbol = self._embedded_target(vectors, padding, mask, request.context, source.padding)
            segment.first_symbol = symbol._replace(
                visible_target=first_symbol(padding, left=False), keys_only=True
            )

    def _paddings(self, requests: Sequence[SourceRequest]) -> list[Tensor]:
        return [request.tokens.eq(self.padding_idx) for request in requests]

    def _segments(
        self,
        requests: Sequence[SourceRequest],
        paddings: Sequence[Tensor],
        positions: Sequence[Tensor],
        padded: Sequence[bool],
    ) -> list[Segment]:
        """Segments of a packed batch.

        Args:
            requests: sources.
            paddings: of each source, (B, S).
            positions: of each source, (B, S).
            padded: for each source, whether there is any padding.
        """
        masks = [
            SourceMask(padding, is_padded, self.stack.causal_source)
            for padding, is_padded in zip(paddings, padded, strict=True)
        ]
        contexts = [
            self._token_context(request.context, counted)
            for request, counted in zip(requests, positions, strict=True)
        ]
        return self.stack.segments(requests, masks, contexts)

    def _padded(self, *paddings: Tensor) -> list[bool]:
        """Whether each mask has any padding, with a single device synchronisation.

        Right padding of a target is not checked: it is later than every token, so that the causal
        mask hides it.
        """
        padded: list[bool] = torch.stack([padding.any() for padding in paddings]).tolist()
        return padded

    def _source_position_vectors(self, positions: Sequence[Tensor]) -> Tensor:
        """Embeddings of the positions (B, S) of several sources, concatenated to (N, D)."""
        longest = max(counted.size(1) for counted in positions)
        flat = torch.cat([counted.flatten() for counted in positions])
        vectors: Tensor = self.source_positions(flat, longest)
        return vectors

    def _target_positions(self, padding: Tensor, source_padding: Tensor) -> tuple[Tensor, int]:
        """Positions of a target with padding (R, P), and an upper bound of their number."""
        positions, longest = count_positions(padding, self.padding_idx), padding.size(1)
        if self.spec.positions == "continuous":
            rows = len(padding) // len(source_padding)
            lengths = (~source_padding).sum(1).repeat_interleave(rows)
            positions = positions + lengths[:, None] * ~padding
            longest += source_padding.size(1)
        return positions, longest

    def _target_position_vectors(self, positions: Tensor, longest: int) -> Tensor:
        """Embeddings (R, T, D) of target positions (R, T) up to ``longest`` + padding index."""
        table = self.source_positions if self.target_positions is None else self.target_positions
        vectors: Tensor = table(positions, longest)
        return vectors

    def _token_context(self, context: TokenContext, positions: Tensor) -> TokenContext:
        """The context of tokens (B, L), given their sentences' (B,) and their positions."""
        tokens = context[:, None]
        rotary = self.spec.position_embedding == "rotary"
        return replace(tokens, position=positions) if rotary else tokens

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        scaled = tokens * math.sqrt(self.spec.model_dim)
        embedded: Tensor = self.dropout(scaled + positions.to(scaled))
        return embedded


def _flat(requests: Sequence[SourceRequest]) -> Tensor:
    """The tokens of several sources, concatenated to (N,)."""
    return torch.cat([request.tokens.flatten() for request in requests])


def count_positions(padding: Tensor, padding_idx: int) -> Tensor:
    """Positions (B, L) as fairseq counts them, given ``padding`` (B, L), true at padding.

    The first token has position padding index + 1; padding on either side has the padding index.
    """
    real = (~padding).long()
    return real.cumsum(1) * real + padding_idx
