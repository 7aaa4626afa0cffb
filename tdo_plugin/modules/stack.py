"""The stack of layers that a source stream and a target stream pass (two topologies).

Shapes: B sentences, R = B * beams rows, S source, T target, D model width.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from tdo_plugin.modules.languages import Languages
from tdo_plugin.modules.layer import JointLayer, Surroundings, TargetLayer
from tdo_plugin.modules.masks import SourceMask, TargetMask
from tdo_plugin.modules.source_state import Reading, SourceState
from tdo_plugin.modules.stream_pass import JointRows, Pair, Source, StreamPass
from tdo_plugin.modules.target_store import TargetStore


class Parts(nn.Sequential):
    """Parts one after the other, each told the languages of the positions."""

    def forward(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """(..., D) to (..., D)."""
        for part in self:
            x = part(x, languages)
        return x


class Stack(nn.Module):
    """What both topologies share: the way of the target, and the end of the source's stage."""

    joint_rows = JointRows()  # of norms that both streams pass, where a stack has such

    def __init__(
        self, entry: Parts, exit_: Parts, causal_source: bool, whole_points: bool = False
    ) -> None:
        """
        Args:
            entry: applied to the source where the target enters (final norm, adaptation, language
                transformation).
            exit_: applied to the target after the last layer (adaptation, final norm).
            causal_source: whether source positions see only earlier ones.
            whole_points: compute the last layer that a point is wanted of at all positions.
        """
        super().__init__()
        self.entry = entry
        self.exit = exit_
        self.causal_source = causal_source
        self.whole_points = whole_points

    @property
    def target_layers(self) -> Sequence[TargetLayer]:
        """The layers that the target passes, in order."""
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    def source(
        self, embedded: Tensor, masks: Sequence[SourceMask], readings: Sequence[Reading]
    ) -> list[SourceState]:
        """Sources through the layers, side by side.

        Args:
            embedded: (N, D), the sources one after the other.
            masks: of each, (B, S).
            readings: what is wanted of each.
        """
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    def target(
        self, x: Tensor, source: SourceState, mask: TargetMask, store: TargetStore | None = None
    ) -> Tensor:
        """The target (R, T, D) through all its layers."""
        languages = source.languages
        if languages is not None:
            languages = languages.repeat_interleave(len(x) // len(languages))[:, None]
        languages = self.joint_rows.of_target(languages)
        around = Surroundings(source.memories, mask, languages, store)
        for index, layer in enumerate(self.target_layers):
            x = layer.target(x, around, index)
        left: Tensor = self.exit(x, languages)
        return left

    def both(
        self,
        embedded: Tensor,
        masks: Sequence[SourceMask],
        readings: Sequence[Reading],
        x: Tensor,
        mask: TargetMask,
    ) -> tuple[list[SourceState], Tensor]:
        """:meth:`source`, and :meth:`target` of the first source, whole: (B, T, D)."""
        states = self.source(embedded, masks, readings)
        return states, self.target(x, states[0], mask)

    def readout(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """The source's last state (B, S, D) as the output projection reads a target's.

        Args:
            x: the output of the last layer that sources pass.
            languages: of the sentences, (B,), where the model asks for them.
        """
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    def _source(self, mask: SourceMask, reading: Reading, most: int, whole: bool) -> Source:
        """A source whose target, if it has one, reads of it up to layer ``most``."""
        points = {layer for layer, _ in reading.points}
        last = most if reading.memories else max({*reading.states, *points})
        needed = {*reading.states, *(points if self.whole_points else ())}
        whole = last in needed or (reading.memories and whole)
        return Source(mask, reading, last, whole)


class DecoderOnlyStack(Stack):
    """L joint layers; the target enters at layer M (0: decoder-only, else two-stage)."""

    def __init__(
        self,
        layers: Sequence[JointLayer],
        target_layer: int,
        entry: Parts,
        exit_: Parts,
        causal_source: bool,
        whole_points: bool = False,
        joint_rows: JointRows | None = None,
    ) -> None:
        super().__init__(entry, exit_, causal_source, whole_points)
        self.layers = nn.ModuleList(layers)
        self.target_layer = target_layer
        self.joint_rows = joint_rows or JointRows()

    @property
    def target_layers(self) -> Sequence[JointLayer]:
        return [layer for layer in self.layers[self.target_layer :]]  # type: ignore[misc]

    def source(
        self, embedded: Tensor, masks: Sequence[SourceMask], readings: Sequence[Reading]
    ) -> list[SourceState]:
        """As :meth:`Stack.source`.

        Of the last layer a target needs only keys and values; the rest of it is computed only
        where its output is wanted.
        """
        sources = self._sources(masks, readings)
        self._pass(StreamPass(embedded, sources))
        return [one.state for one in sources]

    def both(
        self,
        embedded: Tensor,
        masks: Sequence[SourceMask],
        readings: Sequence[Reading],
        x: Tensor,
        mask: TargetMask,
    ) -> tuple[list[SourceState], Tensor]:
        """As :meth:`Stack.both`; the target passes its layers beside the sources."""
        sources = self._sources(masks, readings)
        pair = Pair(sources[0], x, mask)
        self._pass(StreamPass(embedded, sources), pair)
        left: Tensor = self.exit(pair.target, pair.target_languages)
        return [one.state for one in sources], left

    def readout(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """As :meth:`Stack.readout`: through what the target passes after the last layer."""
        features: Tensor = self.exit(x, None if languages is None else languages[:, None])
        return features

    def _sources(self, masks: Sequence[SourceMask], readings: Sequence[Reading]) -> list[Source]:
        pairs = zip(masks, readings, strict=True)
        return [self._source(*one, most=len(self.layers), whole=False) for one in pairs]

    def _pass(self, way: StreamPass, pair: Pair | None = None) -> None:
        for index, layer in enumerate(self.layers):
            assert isinstance(layer, JointLayer)
            if index == self.target_layer:
                way.enter(self.entry, self.joint_rows, pair)
            way.through(layer, index + 1)
            way.leave_at(index + 1)


class EncoderDecoderStack(Stack):
    """N layers for the source alone, N' with weights of their own for the target."""

    def __init__(
        self,
        encoder_layers: Sequence[JointLayer],
        decoder_layers: Sequence[TargetLayer],
        entry: Parts,
        exit_: Parts,
        causal_source: bool,
        whole_points: bool = False,
    ) -> None:
        super().__init__(entry, exit_, causal_source, whole_points)
        self.encoder_layers = nn.ModuleList(encoder_layers)
        self.decoder_layers = nn.ModuleList(decoder_layers)

    @property
    def target_layers(self) -> Sequence[TargetLayer]:
        return [layer for layer in self.decoder_layers]  # type: ignore[misc]

    def source(
        self, embedded: Tensor, masks: Sequence[SourceMask], readings: Sequence[Reading]
    ) -> list[SourceState]:
        """As :meth:`Stack.source`; layer indices count encoder layers."""
        sources = [
            self._source(*one, most=len(self.encoder_layers), whole=True)
            for one in zip(masks, readings, strict=True)
        ]
        way = StreamPass(embedded, sources)
        for number, layer in enumerate(self.encoder_layers, start=1):
            assert isinstance(layer, JointLayer)
            way.through(layer, number)
            if number == len(self.encoder_layers):
                self._read_final(way)
            way.leave_at(number)
        return [one.state for one in sources]

    def readout(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """As :meth:`Stack.readout`: what the decoder reads."""
        features: Tensor = self.entry(x, None if languages is None else languages[:, None])
        return features

    def _read_final(self, way: StreamPass) -> None:
        """Keys and values of the final state, for each target layer."""
        for source, x in way.parts():
            if isinstance(source, Source) and source.reading.memories:
                languages = source.languages
                final = self.entry(x, languages)
                source.memories += [layer.memory(final, languages) for layer in self.target_layers]
