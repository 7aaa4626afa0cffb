"""The stack of layers that a source stream and a target stream pass (two topologies).

Shapes: B sentences, R = B * beams rows, S source, T target, D model width.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.layer import JointLayer, KeyValueStore, TargetLayer
from tdo_plugin.modules.masks import TargetMask, source_mask


@dataclass(frozen=True)
class SourceState:
    """All that a target, a criterion or a probe reads of a source.

    Attributes:
        padding: boolean (B, S), true at padding.
        memories: for each layer that the target passes, keys and values (B, H, S, E).
        states: outputs (B, S, D) of the layers that were asked for, by index from 1, before any
            adaptation or final norm.
        beams: how many target rows share a sentence.
    """

    padding: Tensor
    memories: Sequence[KeyValue]
    states: dict[int, Tensor] = field(default_factory=dict)
    beams: int = 1

    @property
    def sentences(self) -> int:
        """B."""
        return self.padding.size(0)

    def select(self, sentences: Tensor) -> "SourceState":
        """The state of some sentences, by index (B',)."""
        return replace(
            self,
            padding=self.padding.index_select(0, sentences),
            memories=_Chosen.of(self.memories, sentences),
            states={
                layer: state.index_select(0, sentences) for layer, state in self.states.items()
            },
        )

    def reorder(self, rows: Tensor) -> "SourceState":
        """The state for new target rows, given as indices of the present rows (R',).

        Beams of a sentence share its state: while a search only permutes beams inside sentences
        nothing is copied, and the first call of a search, which repeats every sentence once for
        each beam, only notes the number of beams.
        """
        present = self.sentences * self.beams
        if self.beams == 1 and rows.numel() > present and rows.numel() % present == 0:
            beams = rows.numel() // present
            if bool(
                (
                    rows.view(present, beams) == torch.arange(present, device=rows.device)[:, None]
                ).all()
            ):
                return replace(self, beams=beams)
        if rows.numel() == present and self.beams > 1:
            return self
        if self.beams == 1:
            unmoved = rows.numel() == present and torch.equal(
                rows, torch.arange(present, device=rows.device)
            )
            return self if unmoved else self.select(rows)
        return self.select(rows.view(-1, self.beams)[:, 0].div(self.beams, rounding_mode="floor"))


class _Chosen(Sequence[KeyValue]):
    """Some sentences' memories, each copied when it is read, if ever."""

    def __init__(self, memories: Sequence[KeyValue], sentences: Tensor) -> None:
        self._memories: Sequence[KeyValue] = memories
        self._sentences = sentences
        self._read: dict[int, KeyValue] = {}

    @classmethod
    def of(cls, memories: Sequence[KeyValue], sentences: Tensor) -> "_Chosen":
        """Of memories that may be a choice themselves, which nothing keeps then."""
        if isinstance(memories, cls):
            return cls(memories._memories, memories._sentences.index_select(0, sentences))
        return cls(memories, sentences)

    def __len__(self) -> int:
        return len(self._memories)

    def __getitem__(self, layer: int) -> KeyValue:  # type: ignore[override]
        if layer not in self._read:
            chosen = [part.index_select(0, self._sentences) for part in self._memories[layer]]
            self._read[layer] = KeyValue(*chosen)
        return self._read[layer]


class Stack(nn.Module):
    """What both topologies share: the way of the target, and the end of the source's stage."""

    def __init__(self, entry: nn.Module, exit_: nn.Module, causal_source: bool) -> None:
        """
        Args:
            entry: applied to the source where the target enters (final norm, adaptation).
            exit_: applied to the target after the last layer (adaptation, final norm).
            causal_source: whether source positions see only earlier ones.
        """
        super().__init__()
        self.entry = entry
        self.exit = exit_
        self.causal_source = causal_source

    @property
    def target_layers(self) -> Sequence[TargetLayer]:
        """The layers that the target passes, in order."""
        raise TypeError(f"{type(self).__name__} has no layers; use a subclass")

    def target(
        self, x: Tensor, source: SourceState, mask: TargetMask, store: KeyValueStore | None = None
    ) -> Tensor:
        """The target (R, T, D) through all its layers."""
        for index, layer in enumerate(self.target_layers):
            x = layer.target(x, source.memories, mask, store, index)
        left: Tensor = self.exit(x)
        return left


class DecoderOnlyStack(Stack):
    """L joint layers; the target enters at layer M (0: decoder-only, else two-stage)."""

    def __init__(
        self,
        layers: Sequence[JointLayer],
        target_layer: int,
        entry: nn.Module,
        exit_: nn.Module,
        causal_source: bool,
    ) -> None:
        super().__init__(entry, exit_, causal_source)
        self.layers = nn.ModuleList(layers)
        self.target_layer = target_layer

    @property
    def target_layers(self) -> Sequence[JointLayer]:
        return [layer for layer in self.layers[self.target_layer :]]  # type: ignore[misc]

    def source(
        self, x: Tensor, padding: Tensor, wanted: Collection[int] = (), states_only: bool = False
    ) -> SourceState:
        """The source (B, S, D) through the layers.

        Of the last layer the target needs only keys and values; the rest of it is computed only
        where its output is wanted.

        Args:
            x: embedded source.
            padding: boolean (B, S).
            wanted: layers, from 1, whose outputs are kept.
            states_only: stop after the last wanted layer and keep no memories.
        """
        mask = source_mask(padding, self.causal_source)
        last = len(self.layers) - 1
        memories: list[KeyValue] = []
        states: dict[int, Tensor] = {}
        for index, layer in enumerate(self.layers):
            assert isinstance(layer, JointLayer)
            if index == self.target_layer:
                x = self.entry(x)
            if index == last and last + 1 not in wanted:
                memory = layer.memory(x)
            else:
                x, memory = layer.source(x, mask)
            if index + 1 in wanted:
                states[index + 1] = x
            if states_only and index + 1 == max(wanted, default=0):
                break
            if index >= self.target_layer and not states_only:
                memories.append(memory)
        return SourceState(padding, memories, states)


class EncoderDecoderStack(Stack):
    """N layers for the source alone, N' with weights of their own for the target."""

    def __init__(
        self,
        encoder_layers: Sequence[JointLayer],
        decoder_layers: Sequence[TargetLayer],
        entry: nn.Module,
        exit_: nn.Module,
        causal_source: bool,
    ) -> None:
        super().__init__(entry, exit_, causal_source)
        self.encoder_layers = nn.ModuleList(encoder_layers)
        self.decoder_layers = nn.ModuleList(decoder_layers)

    @property
    def target_layers(self) -> Sequence[TargetLayer]:
        return [layer for layer in self.decoder_layers]  # type: ignore[misc]

    def source(
        self, x: Tensor, padding: Tensor, wanted: Collection[int] = (), states_only: bool = False
    ) -> SourceState:
        """As :meth:`DecoderOnlyStack.source`; layer indices count encoder layers."""
        mask = source_mask(padding, self.causal_source)
        states: dict[int, Tensor] = {}
        for index, layer in enumerate(self.encoder_layers, start=1):
            assert isinstance(layer, JointLayer)
            x, _ = layer.source(x, mask)
            if index in wanted:
                states[index] = x
            if states_only and index == max(wanted, default=0):
                return SourceState(padding, [], states)
        final = self.entry(x)
        memories = [] if states_only else [layer.memory(final) for layer in self.target_layers]
        return SourceState(padding, memories, states)
