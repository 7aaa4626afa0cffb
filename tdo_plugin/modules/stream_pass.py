"""Sources, and in training a target, on their way through the layers side by side.

Shapes: B sentences, S source, T target, L of a stream, D model width, N positions of all streams.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.disentangler import Disentangled
from tdo_plugin.modules.languages import Languages
from tdo_plugin.modules.layer import JointLayer, Stream, beside
from tdo_plugin.modules.masks import SourceMask, TargetMask
from tdo_plugin.modules.source_state import Reading, SourceState


@dataclass(frozen=True)
class JointRows:
    """Which row of language-aware norms a stream's positions take where both streams pass.

    Attributes:
        source: one for all positions of sources; None: their languages'.
        target: the same of targets.
    """

    source: int | None = None
    target: int | None = None

    def of_source(self, languages: Languages | None) -> Languages | None:
        """The rows, given the languages."""
        return _rows(languages, self.source)

    def of_target(self, languages: Languages | None) -> Languages | None:
        """The rows, given the languages."""
        return _rows(languages, self.target)


def _rows(languages: Languages | None, one: int | None) -> Languages | None:
    return languages if languages is None or one is None else languages.with_norm(one)


class PassingStream(Stream):
    """A stream that knows where its way ends.

    Args:
        shape: rows and L.
        last: the last layer, from 1, that anything is wanted of.
        whole: whether the whole output of that layer is wanted.
        languages: as of any stream.
    """

    def __init__(
        self, shape: tuple[int, int], last: int, whole: bool, languages: Languages | None
    ) -> None:
        super().__init__(shape, languages)
        self.last, self.whole = last, whole

    def enter(self, rows: JointRows) -> None:
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
        languages = None if reading.languages is None else reading.languages[:, None]
        super().__init__(mask.shape, last, whole, languages)
        self.mask, self.reading = mask, reading
        self.wants_disentangled = reading.disentangled
        self.memories: list[KeyValue] = []
        self._is_read = False
        self._states: dict[int, Tensor] = {}
        self._points: dict[int, Tensor] = {}
        self._disentangled: Disentangled | None = None

    @property
    def state(self) -> SourceState:
        """What was kept."""
        points = [self._points[place] for place in range(len(self.reading.points))]
        return SourceState(
            self.mask.padding,
            self.memories,
            self._states,
            points,
            languages=self.reading.languages,
            disentangled=self._disentangled,
        )

    def enter(self, rows: JointRows) -> None:
        self._is_read = self.reading.memories
        self.languages = rows.of_source(self.languages)

    def keep_disentangled(self, found: Disentangled) -> None:
        self._disentangled = found

    def mix(self, attention: MultiheadAttention, query: Tensor, own: KeyValue) -> list[Tensor]:
        if self._is_read:
            self.memories.append(own)
        return [attention.mix(query, own, self.mask.whole)]

    def finish(self, layer: JointLayer, number: int, x: Tensor) -> None:
        memory = layer.memory(x, self.languages)
        if self._is_read:
            self.memories.append(memory)
        self.finish_points(layer, number, x, memory)

    def finish_points(self, layer: JointLayer, number: int, x: Tensor, memory: KeyValue) -> None:
        """Take the points of the last layer, given its input and the source's keys and values."""
        for place, (wanted, positions) in enumerate(self.reading.points):
            if wanted == number:
                self._points[place] = layer.source_at(
                    x, memory, self.mask, positions, self.languages
                )

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
        shape = rows, self._start + x.size(1)
        super().__init__(shape, source.last, source.whole, source.languages)
        self.source, self.mask = source, mask
        self.wants_disentangled = source.wants_disentangled
        self.target_languages = source.languages  # (B, 1), or None
        self._embedded: Tensor | None = x
        self._left: Tensor | None = None

    @property
    def source_length(self) -> int:
        return self._start

    def keep_disentangled(self, found: Disentangled) -> None:
        self.source.keep_disentangled(found)

    def enter(self, rows: JointRows) -> None:
        self.source.enter(rows)
        self.target_languages = rows.of_target(self.target_languages)
        if self.source.languages is not None and self.target_languages is not None:
            of_source = self.source.languages.expand(-1, self._start)
            of_target = self.target_languages.expand(-1, self.shape[1] - self._start)
            self.languages = Languages.joined([of_source, of_target], 1)

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
        memory = layer.memory(x, self.languages)
        source, target = x.tensor_split([self._start], 1)
        self.source.finish_points(layer, number, source, self._of_source(memory))
        self._left = layer.rest(target, memory, self.mask.joint, self.target_languages)

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
        self._languages = self._spread()

    def enter(
        self,
        entry: Callable[[Tensor, Languages | None], Tensor],
        rows: JointRows,
        pair: Pair | None = None,
    ) -> None:
        """Begin the layers that a target passes.

        Args:
            entry: what stands there for the sources, of them and the languages of their positions.
            rows: of norms in these layers.
            pair: takes the place of its source, the first one.
        """
        if not self._going:
            return
        self._x = entry(self._x, self._languages)
        if pair is not None:
            first, *others = (x for _, x in self.parts())
            self._going[0] = pair
            self._x = beside([one.flatten(0, 1) for one in (pair.behind(first), *others)])
        for one in self._going:
            one.enter(rows)
        self._languages = self._spread()

    def through(self, layer: JointLayer, number: int) -> None:
        """One layer on; its place is ``number``, from 1."""
        for one, x in self.parts():
            if one.last == number and not one.whole:
                one.finish(layer, number, x)
        self._leave(lambda one: one.last > number or one.whole)
        if not self._going:
            return
        self._x = layer.streams(self._x, self._going, self._languages)
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
            (one, part.view(*shape, part.size(1)))
            for one, part, shape in zip(self._going, parts, shapes, strict=True)
        ]

    def _leave(self, stays: Callable[[PassingStream], bool]) -> None:
        if all(map(stays, self._going)):
            return
        kept = [(one, x) for one, x in self.parts() if stays(one)]
        self._going = [one for one, _ in kept]
        if kept:
            self._x = beside([x.flatten(0, 1) for _, x in kept])
            self._languages = self._spread()

    def _spread(self) -> Languages | None:
        """The languages of all positions, (N,)."""
        known = [
            one.languages.expand(one.shape) for one in self._going if one.languages is not None
        ]
        return Languages.joined([one.flatten() for one in known]) if known else None
