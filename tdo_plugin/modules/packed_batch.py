"""A packed batch: sequences of several kinds in one matrix, each linear layer one product for all.

Shapes: B sentences, S source, T target, L = S + T, D model width, N tokens of all segments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.linear import recomputable
from tdo_plugin.modules.masks import SourceMask, TargetMask
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


@dataclass(frozen=True)
class LastQueries:
    """Tokens whose output of a segment's last layer is wanted, and what they see there.

    Attributes:
        x: the layer's input at them, (B, T, D).
        kv: keys and values (B, H, L, E).
        mask: broadcastable to (B, H, T, L).
        context: of the tokens, broadcastable to (B, T).
        place: which of the request's token states this is; None for the target.
    """

    x: Tensor
    kv: KeyValue
    mask: Tensor | None
    context: TokenContext
    place: int | None = None


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
        self.sentences, self.source_length = mask.padding.shape
        self.length = self.source_length
        self.tokens = context.flat(self.sentences, self.length)
        self.target_mask: TargetMask | None = None
        self.target_context = NO_CONTEXT
        self.captured: dict[str, Tensor] = {}
        self.source_kv: list[KeyValue] = []
        self._is_read = False
        self._layer_outputs: dict[int, Tensor] = {}
        self._token_states: dict[int | None, Tensor] = {}  # the target's under None

    @property
    def size(self) -> int:
        """How many tokens it has, B * L."""
        return self.sentences * self.length

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
        return self._token_states[None]

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
        length = mask.target.size(2)
        self.context = TokenContext.side_by_side(
            [self.context, context], [self.source_length, length]
        )
        self.length = self.source_length + length
        self.tokens = self.context.flat(self.sentences, self.length)

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
        self._keep_kv(kv)
        if self.target_mask is None:
            return [attention.mix(query, kv, self.mask.whole)]
        source, target = self.split(query, 2)
        return [
            attention.mix(source, self._of_source(kv), self.mask.whole),
            attention.mix(target, kv, self.target_mask.joint),
        ]

    def last_queries(self, number: int, x: Tensor, kv: KeyValue) -> list[LastQueries]:
        """What is wanted of layer ``number``, the segment's last, where that is not its whole.

        Args:
            number: of the layer, from 1.
            x: its input (B, L, D).
            kv: keys and values (B, H, L, E) that it makes of it.
        """
        self._keep_kv(kv)
        queries = []
        for place, positions in self._wanted_tokens(number):
            chosen = self._rows[:, None], positions[:, None]
            context = self.context.at(*chosen)
            mask = self.mask.at(positions)
            queries.append(LastQueries(x[chosen], self._of_source(kv), mask, context, place))
        if self.target_mask is not None:
            _, target = self.split(x)
            queries.append(LastQueries(target, kv, self.target_mask.joint, self.target_context))
        return queries

    def keep_last(self, queries: LastQueries, output: Tensor) -> None:
        """Keep the output (B, T, D) at tokens of :meth:`last_queries`."""
        of_target = queries.place is None
        self._token_states[queries.place] = output if of_target else output[:, 0]

    def keep(self, number: int, x: Tensor) -> None:
        """Keep what is wanted of the whole output (B, L, D) of layer ``number``."""
        source, target = self.split(x)
        if number in self.request.layer_outputs:
            self._layer_outputs[number] = source
        for place, positions in self._wanted_tokens(number):
            self._token_states[place] = source[self._rows, positions]
        if number == self.last and self.target_mask is not None:
            self._token_states[None] = target

    def capture(self, name: str, compute: Callable[[], Tensor]) -> None:
        """Keep a tensor from inside a layer, (B * S, ...), computed only if it was asked for."""
        if name in self.request.capture:
            self.captured[name] = compute().unflatten(0, self.mask.padding.shape)

    @property
    def _rows(self) -> Tensor:
        return torch.arange(self.sentences, device=self.mask.padding.device)

    def _wanted_tokens(self, number: int) -> list[tuple[int, Tensor]]:
        """Places in the request, and positions (B,), of token states that layer ``number`` owes."""
        token_states = enumerate(self.request.token_states)
        return [(place, positions) for place, (layer, positions) in token_states if layer == number]

    def _of_source(self, kv: KeyValue) -> KeyValue:
        """The source's part of keys and values (B, H, L, E)."""
        return KeyValue(*(self.split(part, 2)[0] for part in kv))

    def _keep_kv(self, kv: KeyValue) -> None:
        """Keep keys and values for a target that comes later."""
        if self._is_read and self.target_mask is None:
            self.source_kv.append(kv)


class PackedBatch:
    """Segments one after the other, (N, D); a segment leaves after the last layer that it needs.

    Attributes:
        x: (N, D).
        segments: in the order of ``x``.
        context: of all tokens, (N,).
    """

    def __init__(self, x: Tensor, segments: Sequence[Segment]) -> None:
        self.x, self.segments = x, list(segments)
        self.context = TokenContext.cat([segment.tokens for segment in segments])

    def views(self) -> list[tuple[Segment, Tensor]]:
        """Each segment with its tokens (B, L, D)."""
        if not self.segments:
            return []
        parts = self.x.split([segment.size for segment in self.segments])
        return [
            (segment, x.view(segment.sentences, segment.length, -1))
            for segment, x in zip(self.segments, parts, strict=True)
        ]

    def leaving(self, number: int) -> list[tuple[Segment, Tensor]]:
        """Let those leave whose last layer is ``number``, not wanted whole; they are returned."""
        return self._let_leave(lambda segment: segment.last == number and not segment.whole)

    def advance(self, number: int, x: Tensor) -> None:
        """Go on with the output (N, D) of layer ``number``, of which segments keep what is wanted.

        Those whose last layer it was stay until the next, or until a target enters.
        """
        self.x = x
        for segment, output in self.views():
            segment.keep(number, output)

    def enter_target_layers(self, number: int) -> None:
        """Layers that a target passes begin behind layer ``number``; who needs none, leaves."""
        self._let_leave(lambda segment: segment.last <= number)
        for segment in self.segments:
            segment.enter_target_layers()

    def append_target(self, x: Tensor, mask: TargetMask, context: TokenContext) -> None:
        """Let the first segment go on as [source ; target], given the target (B, T, D)."""
        (first, source), *others = self.views()
        first.append_target(mask, context)
        self._replace([(first, torch.cat([source, x], 1)), *others])

    def attend(self, attention: MultiheadAttention, x: Tensor) -> Tensor:
        """Attention's output of all tokens before the output projection, (N, D).

        The result can be made again of its pieces, which attention keeps for the backward pass.

        Args:
            attention: of the layer.
            x: what its queries, keys and values are made of, (N, D).
        """
        shapes = [(segment.sentences, segment.length) for segment in self.segments]
        projected = attention.queries_keys_values(x, shapes, self.context)
        pieces = [
            segment.attend(attention, query, kv)
            for segment, (query, kv) in zip(self.segments, projected, strict=True)
        ]
        flat = [piece for segment in pieces for piece in segment]
        counts = [len(segment) for segment in pieces]

        def packed(*flat: Tensor) -> Tensor:
            rest = iter(flat)
            return _packed([_joined(list(islice(rest, count))) for count in counts])

        return packed(*flat) if len(flat) == 1 else recomputable(packed, *flat)

    def source_places(self) -> Tensor | None:
        """Indices (n,) of all source tokens; None where there are no others."""
        if all(segment.target_mask is None for segment in self.segments):
            return None
        sizes = [segment.size for segment in self.segments]
        places = torch.arange(sum(sizes), device=self.x.device).split(sizes)
        return torch.cat(
            [
                segment.split(part.view(segment.sentences, segment.length))[0].flatten()
                for segment, part in zip(self.segments, places, strict=True)
            ]
        )

    def _let_leave(self, leaves: Callable[[Segment], bool]) -> list[tuple[Segment, Tensor]]:
        left = [segment for segment in self.segments if leaves(segment)]
        if not left:
            return []
        views = self.views()
        self._replace([(segment, x) for segment, x in views if segment not in left])
        return [(segment, x) for segment, x in views if segment in left]

    def _replace(self, parts: Sequence[tuple[Segment, Tensor]]) -> None:
        self.segments = [segment for segment, _ in parts]
        self.context = TokenContext.cat([segment.tokens for segment in self.segments])
        self.x = _packed([x for _, x in parts]) if parts else self.x[:0]


def _joined(pieces: list[Tensor]) -> Tensor:
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)


def _packed(parts: list[Tensor]) -> Tensor:
    """Tensors (B, L, D) one after the other, (N, D); a single one is not copied."""
    flat = [part.flatten(0, 1) for part in parts]
    return flat[0] if len(flat) == 1 else torch.cat(flat)
