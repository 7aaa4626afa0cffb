"""A packed batch: several kinds of sequences in one matrix, so that a linear layer is one product.

Shapes: B sentences, S source, T target, L = S + T, D model width, N tokens of all segments.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.linear import recomputable
from tdo_plugin.modules.masks import SourceMask
from tdo_plugin.modules.segment_tokens import EmbeddedTarget, LastQueries
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.token_context import TokenContext


class Kept(NamedTuple):
    """Tensors of a segment that layers have made and others read."""

    source_kv: list[KeyValue]  # for a later target
    token_states: dict[int | None, Tensor]  # by index in the request; None: the target's, (B, T, D)
    captured: dict[str, Tensor]  # by name

    @classmethod
    def nothing(cls) -> "Kept":
        """No tensors yet."""
        return cls([], {}, {})


@dataclass(eq=False)
class Segment:
    """The sources of B sentences, or [source ; target] of each, and the outputs kept from them."""

    request: SourceRequest  # outputs to keep
    mask: SourceMask  # of the sources, (B, S)
    context: TokenContext  # of the tokens, (B, 1) or (B, L)
    last: int  # the last layer, from 1, with requested outputs
    whole: bool  # whether that layer's output is needed at all source positions
    first_symbol: EmbeddedTarget | None = None  # if sources see it and no whole target enters
    target: EmbeddedTarget | None = None  # the target that has entered
    keeps_kv: bool = False  # whether to keep the source's keys and values for a later target
    kept: Kept = field(default_factory=Kept.nothing)

    def __post_init__(self) -> None:
        self.sentences, self.source_length = self.mask.padding.shape
        self.length = self._keys_of_source = self.source_length  # until a target enters
        self.tokens = self.context.flat(self.sentences, self.length)
        self._layer_outputs: dict[int, Tensor] = {}

    @property
    def state(self) -> SourceState:
        """The outputs kept from the sources."""
        return SourceState(
            self.mask.padding,
            self.kept.source_kv,
            self._layer_outputs,
            [self.kept.token_states[place] for place in range(len(self.request.token_states))],
            context=self.request.context,
            captured=self.kept.captured,
        )

    @property
    def target_output(self) -> Tensor:
        """The target (B, T, D) after the last layer."""
        return self.kept.token_states[None]

    def append_target(self, target: EmbeddedTarget) -> None:
        """Append the target, whose queries then find all keys and values in one tensor."""
        self.target = target
        if target.visible_target is not None:
            self.mask = replace(self.mask, visible_target=target.visible_target)
            self._keys_of_source += target.visible_target.size(1)
        lengths = self.source_length, target.x.size(1)
        self.context = TokenContext.side_by_side([self.context, target.context], lengths)
        self.length = sum(lengths)
        self.tokens = self.context.flat(self.sentences, self.length)

    def split(self, x: Tensor, dim: int = 1) -> tuple[Tensor, Tensor]:
        """Source and target of a tensor with L along ``dim``."""
        source, target = x.tensor_split([self.source_length], dim)
        return source, target

    def attend(self, attention: MultiheadAttention, query: Tensor, kv: KeyValue) -> list[Tensor]:
        """The attention's output before the output projection, (B, L, D), in pieces along L.

        Queries, keys and values are (B, H, L, E).
        """
        self._keep_kv(kv)
        if self.target is None:
            return [attention.mix(query, kv, self.mask.whole)]
        source, target = self.split(query, 2)
        return [
            attention.mix(source, _first(self._keys_of_source, kv), self.mask.whole),
            attention.mix(target, kv, self.target.mask.joint),
        ]

    def last_queries(self, number: int, x: Tensor, kv: KeyValue) -> list[LastQueries]:
        """The requested tokens of layer ``number``, the segment's last, if not all are needed.

        ``kv`` (B, H, L, E) was computed from the layer's input ``x`` (B, L, D).
        """
        self._keep_kv(kv)
        queries = []
        for place, positions in self._wanted_tokens(number):
            chosen = self._rows[:, None], positions[:, None]
            context, mask = self.context.at(*chosen), self.mask.at(positions)
            tokens = x[chosen], _first(self._keys_of_source, kv), mask, context
            queries.append(LastQueries(*tokens, of_source=True, place=place))
        if self.target is not None and not self.target.keys_only:
            target = self.split(x)[1], kv, self.target.mask.joint, self.target.context
            queries.append(LastQueries(*target))
        return queries

    def keep(self, number: int, x: Tensor) -> None:
        """Keep the requested parts of the whole output (B, L, D) of layer ``number``."""
        if number in self.request.layer_outputs:
            self._layer_outputs[number] = self.split(x)[0]
        for place, positions in self._wanted_tokens(number):
            self.kept.token_states[place] = x[self._rows, positions]
        if number == self.last and self.target is not None:
            self.kept.token_states[None] = self.split(x)[1]

    def pass_tokens(self, number: int, part: Callable[..., Tensor]) -> None:
        """Apply a module to the token states requested from layer ``number``."""
        for place, positions in self._wanted_tokens(number):
            context = self.context.at(self._rows, positions)
            self.kept.token_states[place] = part(self.kept.token_states[place], context)

    def for_a_layer(self) -> "Segment":
        """A copy that has kept nothing and stays as it is when a target enters this one.

        So a layer can be computed again in the backward pass.
        """
        segment = copy(self)
        segment.kept = Kept.nothing()
        return segment

    def hand_over(self) -> Kept:
        """What was kept since the last call; it is then no longer here."""
        kept, self.kept = self.kept, Kept.nothing()
        return kept

    def keep_new(self, kept: Kept) -> None:
        """Keep what a layer has handed over."""
        self.kept.source_kv.extend(kept.source_kv)
        self.kept.token_states.update(kept.token_states)
        self.kept.captured.update(kept.captured)

    def capture(self, name: str, compute: Callable[[], Tensor]) -> None:
        """Keep a tensor (B * S, ...) from inside a layer; computed only if it was requested."""
        if name in self.request.capture:
            self.kept.captured[name] = compute().unflatten(0, self.mask.padding.shape)

    @property
    def _rows(self) -> Tensor:
        return torch.arange(self.sentences, device=self.mask.padding.device)

    def _wanted_tokens(self, number: int) -> list[tuple[int, Tensor]]:
        """Index in the request, and positions (B,), of the token states from layer ``number``."""
        token_states = enumerate(self.request.token_states)
        return [(place, positions) for place, (layer, positions) in token_states if layer == number]

    def _keep_kv(self, kv: KeyValue) -> None:
        if self.keeps_kv:
            self.kept.source_kv.append(_first(self.source_length, kv))


class PackedBatch:
    """Concatenated segments: ``x`` (N, D) and the ``context`` (N,) of all their tokens.

    A segment leaves the batch after the last layer that it needs.
    """

    def __init__(self, x: Tensor, segments: Sequence[Segment]) -> None:
        self.x, self.segments = x, list(segments)
        self.context = _context_of(segments)

    def views(self) -> list[tuple[Segment, Tensor]]:
        """Each segment with its tokens (B, L, D)."""
        parts = self.x.split([sentences * length for sentences, length in self.shapes])
        views = [x.view(*shape, x.size(1)) for x, shape in zip(parts, self.shapes, strict=True)]
        return list(zip(self.segments, views, strict=True))

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """B and L of each segment."""
        return [(segment.sentences, segment.length) for segment in self.segments]

    def pass_layer(self, layer: Any, number: int) -> None:
        """Apply a :class:`.JointLayer`, the ``number``-th from 1; segments keep requested outputs.

        A segment whose last layer this is leaves the batch, unless it needs the whole output.
        """
        self._let_leave(lambda segment: segment.last < number)
        leaving = self._let_leave(lambda s: s.last == number and not s.whole)
        batch, last = self._for_a_layer(), [segment.for_a_layer() for segment, _ in leaving]
        work = partial(layer.pass_batch, batch=batch, last=last, number=number)
        output, kept = layer(work, self.x, *(x for _, x in leaving))
        for segment, new in zip([*self.segments, *(s for s, _ in leaving)], kept, strict=True):
            segment.keep_new(new)
        if output is not None:
            self.x = output
            for segment, x in self.views():
                segment.keep(number, x)

    def enter_target_layers(self, number: int) -> None:
        """The target enters after layer ``number``; segments that need no more layers leave."""
        self._let_leave(lambda segment: segment.last <= number)
        for segment in self.segments:
            segment.keeps_kv = segment.request.source_kv

    def append_targets(self, targets: Mapping[Segment, EmbeddedTarget]) -> None:
        """Append targets to their segments, except segments that have left the batch."""
        parts = []
        for segment, x in self.views():
            if segment in targets:
                segment.append_target(targets[segment])
                x = torch.cat([x, targets[segment].x], 1)
            parts.append((segment, x))
        self._replace(parts)

    def attend(self, attention: MultiheadAttention, x: Tensor) -> Tensor:
        """The attention's output before the output projection, (N, D), for its input ``x`` (N, D).

        Recomputable from its pieces, which attention keeps for the backward pass.
        """
        projected = attention.queries_keys_values(x, self.shapes, self.context)
        pieces = [
            segment.attend(attention, query, kv)
            for segment, (query, kv) in zip(self.segments, projected, strict=True)
        ]
        flat = [piece for segment in pieces for piece in segment]
        counts = [len(segment) for segment in pieces]

        def packed(*flat: Tensor) -> Tensor:
            rest = iter(flat)
            return _packed([_joined(list(islice(rest, count))) for count in counts])

        output = packed(*flat)
        return output if len(flat) == 1 else recomputable(output, packed, *flat)

    def hand_over(self, last: Sequence[Segment]) -> list[Kept]:
        """What each segment of the batch, then each of ``last``, has kept since the last call."""
        return [segment.hand_over() for segment in [*self.segments, *last]]

    def _for_a_layer(self) -> "PackedBatch":
        batch = copy(self)
        batch.segments = [segment.for_a_layer() for segment in self.segments]
        return batch

    def _let_leave(self, leaves: Callable[[Segment], bool]) -> list[tuple[Segment, Tensor]]:
        left = [segment for segment in self.segments if leaves(segment)]
        if not left:
            return []
        views = self.views()
        self._replace([(segment, x) for segment, x in views if segment not in left])
        return [(segment, x) for segment, x in views if segment in left]

    def _replace(self, parts: Sequence[tuple[Segment, Tensor]]) -> None:
        self.segments = [segment for segment, _ in parts]
        self.context = _context_of(self.segments)
        self.x = _packed([x for _, x in parts]) if parts else self.x[:0]


def _context_of(segments: Sequence[Segment]) -> TokenContext:
    tokens = [segment.tokens for segment in segments]
    return tokens[0] if len(tokens) == 1 else TokenContext.cat(tokens)


def _first(length: int, kv: KeyValue) -> KeyValue:
    """Keys and values (B, H, L, E) at the first ``length`` positions."""
    if kv.key.size(2) == length:
        return kv
    return KeyValue(*(part[:, :, :length] for part in kv))


def _joined(pieces: list[Tensor]) -> Tensor:
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)


def _packed(parts: list[Tensor]) -> Tensor:
    """Tensors (B, L, D) concatenated to (N, D); a single tensor is not copied."""
    flat = [part.flatten(0, 1) for part in parts]
    return flat[0] if len(flat) == 1 else torch.cat(flat)
