"""A packed batch: sequences of several kinds in one matrix, each linear layer one product for all.

Shapes: B sentences, S source, T target, L = S + T, D model width, N tokens of all segments.
"""

from collections.abc import Callable, Sequence
from itertools import islice

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.linear import recomputable
from tdo_plugin.modules.masks import SourceMask, TargetMask
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class Segment:
    """The sources of B sentences, or [source ; target] of each, and what was kept of them.

    Args:
        request: what is wanted of the sources.
        mask: of the sources, (B, S).
        context: of the source's tokens, (B, 1) or (B, S).
        last: the last layer, from 1, from which anything is wanted.
        whole: whether its output is wanted at all of the source's positions.
    """

    def __init__(
        self,
        request: SourceRequest,
        mask: SourceMask,
        context: TokenContext,
        last: int,
        whole: bool,
    ) -> None:
        self.request, self.mask, self.context = request, mask, context
        self.last, self.whole = last, whole
        self.target_mask: TargetMask | None = None
        self.target_context = NO_CONTEXT
        self.captured: dict[str, Tensor] = {}
        self.source_kv: list[KeyValue] = []
        self._is_read = False
        self._target_length = 0
        self._layer_outputs: dict[int, Tensor] = {}
        self._token_states: dict[int, Tensor] = {}
        self._target_output: Tensor | None = None

    @property
    def source_length(self) -> int:
        """S."""
        return self.mask.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """B and L."""
        sentences, length = self.mask.shape
        return sentences, length + self._target_length

    @property
    def state(self) -> SourceState:
        """What was kept of the sources."""
        return SourceState(
            self.mask.padding,
            self.source_kv,
            self._layer_outputs,
            [self._token_states[place] for place in range(len(self.request.token_states))],
            context=self.request.context,
            captured=self.captured,
        )

    @property
    def target_output(self) -> Tensor:
        """The target (B, T, D) after the last layer."""
        assert self._target_output is not None
        return self._target_output

    def enter_target_layers(self) -> None:
        """From here on keep the keys and values that a target reads."""
        self._is_read = self.request.source_kv

    def append_target(self, mask: TargetMask, context: TokenContext) -> None:
        """Go on as [source ; target], whose queries then find all keys and values in one piece.

        Args:
            mask: of the target.
            context: of its tokens, (B, 1) or (B, T).
        """
        self.target_mask, self.target_context = mask, context
        self._target_length = mask.target.size(2)
        source = self.context.expand(-1, self.source_length)
        self.context = TokenContext.cat([source, context.expand(-1, self._target_length)], 1)

    def split(self, x: Tensor, dim: int = 1) -> tuple[Tensor, Tensor]:
        """Source and target of a tensor with L along ``dim``."""
        source, target = x.tensor_split([self.source_length], dim)
        return source, target

    def attend(self, attention: MultiheadAttention, query: Tensor, kv: KeyValue) -> list[Tensor]:
        """Attention's output before the output projection, (B, L, D) in pieces along L.

        Args:
            attention: of the layer.
            query: (B, H, L, E).
            kv: keys and values (B, H, L, E).
        """
        self.keep_kv(kv)
        if self.target_mask is None:
            return [attention.mix(query, kv, self.mask.whole)]
        source, target = self.split(query, 2)
        return [
            attention.mix(source, self.kv_of_source(kv), self.mask.whole),
            attention.mix(target, kv, self.target_mask.joint),
        ]

    def kv_of_source(self, kv: KeyValue) -> KeyValue:
        """The source's part of keys and values (B, H, L, E)."""
        return KeyValue(*(self.split(part, 2)[0] for part in kv))

    def keep_kv(self, kv: KeyValue) -> None:
        """Keep keys and values for a target that comes later."""
        if self._is_read and self.target_mask is None:
            self.source_kv.append(kv)

    def keep(self, number: int, x: Tensor) -> None:
        """Keep what is wanted of the output (B, L, D) of layer ``number``."""
        source, target = self.split(x)
        if number in self.request.layer_outputs:
            self._layer_outputs[number] = source
        for place, positions in self.wanted_tokens(number):
            self.keep_token(place, source[self.rows, positions])
        if number == self.last and self.target_mask is not None:
            self.keep_target(target)

    @property
    def rows(self) -> Tensor:
        """Indices (B,) of the sentences."""
        return torch.arange(self.mask.shape[0], device=self.mask.padding.device)

    def wanted_tokens(self, number: int) -> list[tuple[int, Tensor]]:
        """Places in the request, and positions (B,), of token states that layer ``number`` owes."""
        token_states = enumerate(self.request.token_states)
        return [(place, positions) for place, (layer, positions) in token_states if layer == number]

    def capture(self, name: str, compute: Callable[[], Tensor]) -> None:
        """Keep a tensor from inside a layer, (B * S, ...), computed only if it was asked for."""
        if name in self.request.capture:
            self.captured[name] = compute().unflatten(0, self.mask.shape)

    def keep_token(self, place: int, state: Tensor) -> None:
        """Keep the token states (B, D) that stand at ``place`` in the request."""
        self._token_states[place] = state

    def keep_target(self, output: Tensor) -> None:
        """Keep the target (B, T, D) after the last layer."""
        self._target_output = output


class PackedBatch:
    """Segments one after the other, (N, D); a segment leaves after the last layer that it needs.

    Attributes:
        x: (N, D).
        segments: in the order of ``x``.
        context: of all tokens, (N,).
    """

    def __init__(self, x: Tensor, segments: Sequence[Segment]) -> None:
        self.x, self.segments = x, list(segments)
        self.context = _flat_context(segments)

    def views(self) -> list[tuple[Segment, Tensor]]:
        """Each segment with its tokens (B, L, D)."""
        sizes = [sentences * length for sentences, length in self.shapes]
        views = zip(self.segments, self.x.split(sizes), strict=True) if sizes else ()
        return [(segment, x.view(*segment.shape, x.size(1))) for segment, x in views]

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """B and L of each segment."""
        return [segment.shape for segment in self.segments]

    def keep_segments(self, stays: Callable[[Segment], bool]) -> None:
        """Let the other segments leave."""
        if not all(map(stays, self.segments)):
            kept = [(segment, x) for segment, x in self.views() if stays(segment)]
            self._replace(kept)

    def append_target(self, x: Tensor, mask: TargetMask, context: TokenContext) -> None:
        """Let the first segment go on as [source ; target], given the target (B, T, D)."""
        (first, source), *others = self.views()
        first.append_target(mask, context)
        self._replace([(first, torch.cat([source, x], 1)), *others])

    def source_places(self) -> Tensor | None:
        """Indices (n,) of all source tokens; None where there are no others."""
        if all(segment.target_mask is None for segment in self.segments):
            return None
        sizes = [sentences * length for sentences, length in self.shapes]
        places = torch.arange(sum(sizes), device=self.x.device).split(sizes)
        return torch.cat(
            [
                segment.split(part.view(segment.shape))[0].flatten()
                for segment, part in zip(self.segments, places, strict=True)
            ]
        )

    def pack(self, pieces: Sequence[Sequence[Tensor]]) -> Tensor:
        """Of each segment (B, L, D), in pieces along L: (N, D).

        The result can be made again of the pieces, which attention keeps for the backward pass.
        """
        flat = [piece for segment in pieces for piece in segment]
        counts = [len(segment) for segment in pieces]

        def packed(*flat: Tensor) -> Tensor:
            rest = iter(flat)
            return _packed([_joined(list(islice(rest, count))) for count in counts])

        return packed(*flat) if len(flat) == 1 else recomputable(packed, *flat)

    def _replace(self, parts: Sequence[tuple[Segment, Tensor]]) -> None:
        self.segments = [segment for segment, _ in parts]
        self.context = _flat_context(self.segments)
        self.x = _packed([x for _, x in parts]) if parts else self.x[:0]


def _flat_context(segments: Sequence[Segment]) -> TokenContext:
    contexts = [segment.context.expand(segment.shape).flatten() for segment in segments]
    return TokenContext.cat(contexts) if contexts else NO_CONTEXT


def _joined(pieces: list[Tensor]) -> Tensor:
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)


def _packed(parts: list[Tensor]) -> Tensor:
    """Tensors (B, L, D) one after the other, (N, D); a single one is not copied."""
    flat = [part.flatten(0, 1) for part in parts]
    return flat[0] if len(flat) == 1 else torch.cat(flat)
