"""Sources, and in training a target, on their way through the layers side by side.

Shapes: B sentences, S source, T target, L of a stream, D model width, N positions of all streams.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.layer import JointLayer, Stream, beside
from tdo_plugin.modules.masks import SourceMask, TargetMask
from tdo_plugin.modules.source_state import Reading, SourceState


class PassingStream(Stream):
    """A stream that knows where its way ends.

    Args:
        shape: rows and L.
        last: the last layer, from 1, that anything is wanted of.
        whole: whether the whole output of that layer is wanted.
    """

    def __init__(self, shape: tuple[int, int], last: int, whole: bool) -> None:
        super().__init__(shape)
        self.last, self.whole = last, whole

    def enter(self) -> None:
        """The layers that a target passes begin."""

    def finish(self, layer: JointLayer, number: int, x: Tensor) -> None:
        """Take of the last layer what is wanted, of its input (B, L, D)."""
        raise TypeError(f"{type(self).__name__} does not end; use a subclass")

    def keep(self, number: int, x: Tensor) -> None:
        """Take of a layer's output (B, L, D) what is wanted."""
        raise TypeError(f"{type(self).__name__} keeps nothing; use a subclass")


class Source(PassingStream):
    """One source, and what was kept of it.

    Args:
        mask: of its positions, (B, S).
        reading: what is wanted.
        last: as above.
        whole: as above.
    """

    def __init__(self, mask: SourceMask, reading: Reading, last: int, whole: bool) -> None:
        super().__init__(mask.shape, last, whole)
        self.mask, self.reading = mask, reading
        self.memories: list[KeyValue] = []
        self._is_read = False
        self._states: dict[int, Tensor] = {}
        self._points: dict[int, Tensor] = {}

    @property
    def state(self) -> SourceState:
        """What was kept."""
        points = [self._points[place] for place in range(len(self.reading.points))]
        return SourceState(self.mask.padding, self.memories, self._states, points)

    def enter(self) -> None:
        self._is_read = self.reading.memories

    def mix(self, attention: MultiheadAttention, query: Tensor, own: KeyValue) -> list[Tensor]:
        if self._is_read:
            self.memories.append(own)
        return [attention.mix(query, own, self.mask.whole)]

    def finish(self, layer: JointLayer, number: int, x: Tensor) -> None:
        memory = layer.memory(x)
        if self._is_read:
            self.memories.append(memory)
        self.finish_points(layer, number, x, memory)

    def finish_points(self, layer: JointLayer, number: int, x: Tensor, memory: KeyValue) -> None:
        """Take the points of the last layer, given its input and the source's keys and values."""
        for place, (wanted, positions) in enumerate(self.reading.points):
            if wanted == number:
                self._points[place] = layer.source_at(x, memory, self.mask, positions)

    def keep(self, number: int, x: Tensor) -> None:
        if number in self.reading.states:
            self._states[number] = x
        for place, (wanted, positions) in enumerate(self.reading.points):
            if wanted == number:
                self._points[place] = x[torch.arange(len(x), device=x.device), positions]


class Pair(PassingStream):
    """A source and its whole target as one sequence [source ; target], L = S + T.

    So the target's queries find all keys and values in one piece. Of the last layer only the
    target's positions are computed whole, unless more of it is wanted.

    Args:
        source: goes on as a part of the pair.
        x: the target, embedded, (B, T, D).
        mask: of the sentences.
    """

    def __init__(self, source: Source, x: Tensor, mask: TargetMask) -> None:
        rows, self._start = source.shape
        super().__init__((rows, self._start + x.size(1)), source.last, source.whole)
        self.source, self.mask = source, mask
        self._embedded: Tensor | None = x
        self._left: Tensor | None = None

    @property
    def target(self) -> Tensor:
        """The target (B, T, D) after the last layer."""
        assert self._left is not None
        return self._left

    def behind(self, source: Tensor) -> Tensor:
        """The target behind the source (B, S, D) where it enters, once: (B, L, D)."""
        assert self._embedded is not None
        joined, self._embedded = torch.cat([source, self._embedded], 1), None
        return joined

    def mix(self, attention: MultiheadAttention, query: Tensor, own: KeyValue) -> list[Tensor]:
        of_source, of_target = query.tensor_split([self._start], 2)
        return [
            attention.mix(of_source, self._of_source(own), self.source.mask.whole),
            attention.mix(of_target, own, self.mask.joint),
        ]

    def finish(self, layer: JointLayer, number: int, x: Tensor) -> None:
        memory = layer.memory(x)
        source, target = x.tensor_split([self._start], 1)
        self.source.finish_points(layer, number, source, self._of_source(memory))
        self._left = layer.rest(target, memory, self.mask.joint)

    def keep(self, number: int, x: Tensor) -> None:
        source, target = x.tensor_split([self._start], 1)
        self.source.keep(number, source)
        if number == self.last:
            self._left = target

    def _of_source(self, own: KeyValue) -> KeyValue:
        return KeyValue(*(part[:, :, : self._start] for part in own))


class StreamPass:
    """Streams in one matrix (N, D), which every layer takes in one go; each leaves at its end."""

    def __init__(self, embedded: Tensor, sources: Sequence[Source]) -> None:
        """
        Args:
            embedded: (N, D), the sources one after the other.
            sources: in this order.
        """
        self._x = embedded
        self._going: list[PassingStream] = list(sources)

    def enter(self, entry: Callable[[Tensor], Tensor], pair: Pair | None = None) -> None:
        """Begin the layers that a target passes.

        Args:
            entry: what stands there for the sources.
            pair: takes the place of its source, the first one.
        """
        if not self._going:
            return
        self._x = entry(self._x)
        for one in self._going:
            one.enter()
        if pair is not None:
            first, *others = (x for _, x in self.parts())
            self._going[0] = pair
            self._x = beside([one.flatten(0, 1) for one in (pair.behind(first), *others)])

    def through(self, layer: JointLayer, number: int) -> None:
        """One layer on; its place is ``number``, from 1."""
        for one, x in self.parts():
            if one.last == number and not one.whole:
                one.finish(layer, number, x)
        self._leave(lambda one: one.last > number or one.whole)
        if not self._going:
            return
        self._x = layer.streams(self._x, self._going)
        for one, x in self.parts():
            one.keep(number, x)

    def leave_at(self, number: int) -> None:
        """Let those go whose way ends at this layer."""
        self._leave(lambda one: one.last > number)

    def parts(self) -> list[tuple[PassingStream, Tensor]]:
        """Those on the way, each with its (B, L, D)."""
        if not self._going:
            return []
        shapes = [one.shape for one in self._going]
        parts = self._x.split([rows * length for rows, length in shapes])
        return [
            (one, part.view(*shape, -1))
            for one, part, shape in zip(self._going, parts, shapes, strict=True)
        ]

    def _leave(self, stays: Callable[[PassingStream], bool]) -> None:
        if all(map(stays, self._going)):
            return
        kept = [(one, x) for one, x in self.parts() if stays(one)]
        self._going = [one for one, _ in kept]
        if kept:
            self._x = beside([x.flatten(0, 1) for _, x in kept])
