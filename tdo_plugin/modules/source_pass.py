"""Sources on their way through the layers, side by side.

Shapes: B sentences, S source, D model width, N positions of all sources together.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.layer import JointLayer, beside
from tdo_plugin.modules.masks import SourceMask
from tdo_plugin.modules.source_state import Reading, SourceState


class Source:
    """One source: where its way ends, and what was kept of it.

    Args:
        mask: of its positions, (B, S).
        reading: what is wanted.
        last: the last layer, from 1, that anything is wanted of.
        whole: whether the whole output of that layer is wanted.
    """

    def __init__(self, mask: SourceMask, reading: Reading, last: int, whole: bool) -> None:
        self.mask, self.reading = mask, reading
        self.last, self.whole = last, whole
        self.memories: list[KeyValue] = []
        self._states: dict[int, Tensor] = {}
        self._points: dict[int, Tensor] = {}

    @property
    def state(self) -> SourceState:
        """What was kept."""
        points = [self._points[place] for place in range(len(self.reading.points))]
        return SourceState(self.mask.padding, self.memories, self._states, points)

    def finish(self, layer: JointLayer, number: int, x: Tensor) -> None:
        """Take of the last layer what is wanted, of its input (B, S, D)."""
        memory = layer.memory(x)
        if self.reading.memories:
            self.memories.append(memory)
        for place, (wanted, positions) in enumerate(self.reading.points):
            if wanted == number:
                self._points[place] = layer.source_at(x, memory, self.mask, positions)

    def keep(self, number: int, x: Tensor) -> None:
        """Take of a layer's output (B, S, D) what is wanted."""
        if number in self.reading.states:
            self._states[number] = x
        for place, (wanted, positions) in enumerate(self.reading.points):
            if wanted == number:
                self._points[place] = x[torch.arange(len(x), device=x.device), positions]


class SourcePass:
    """Sources in one matrix (N, D), which every layer takes in one go; each leaves at its end."""

    def __init__(self, embedded: Tensor, sources: Sequence[Source]) -> None:
        """
        Args:
            embedded: (N, D), the sources one after the other.
            sources: in this order.
        """
        self._x, self._going = embedded, list(sources)

    def enter(self, entry: Callable[[Tensor], Tensor]) -> None:
        """What stands where the target enters."""
        if self._going:
            self._x = entry(self._x)

    def through(self, layer: JointLayer, number: int, readable: bool) -> None:
        """One layer on.

        Args:
            layer: the layer.
            number: its place, from 1.
            readable: whether a target reads keys and values here.
        """
        for one, x in self.parts():
            if one.last == number and not one.whole:
                one.finish(layer, number, x)
        self._leave(lambda one: one.last > number or one.whole)
        if not self._going:
            return
        self._x, memories = layer.source(self._x, [one.mask for one in self._going])
        for (one, x), memory in zip(self.parts(), memories, strict=True):
            one.keep(number, x)
            if readable and one.reading.memories:
                one.memories.append(memory)

    def leave_at(self, number: int) -> None:
        """Let those go whose way ends at this layer."""
        self._leave(lambda one: one.last > number)

    def parts(self) -> list[tuple[Source, Tensor]]:
        """Those on the way, each with its (B, S, D)."""
        if not self._going:
            return []
        shapes = [one.mask.shape for one in self._going]
        parts = self._x.split([rows * length for rows, length in shapes])
        return [
            (one, part.view(*shape, -1))
            for one, part, shape in zip(self._going, parts, shapes, strict=True)
        ]

    def _leave(self, stays: Callable[[Source], bool]) -> None:
        if all(map(stays, self._going)):
            return
        kept = [(one, x) for one, x in self.parts() if stays(one)]
        self._going = [one for one, _ in kept]
        if kept:
            self._x = beside([x.flatten(0, 1) for _, x in kept])
