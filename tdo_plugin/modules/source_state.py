"""What to compute from a source, and the outputs once it has passed its layers.

Shapes: B sentences, R = B * beams rows, S source, D model width, H heads, E head width.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


@dataclass(frozen=True)
class SourceRequest:
    """A source and the outputs to compute from it; layers that no output needs are skipped.

    Attributes:
        tokens: (B, S), padded on either side.
        layer_outputs: layers, from 1, whose outputs to keep.
        token_states: pairs of a layer, from 1, and one token position (B,) per sentence at which
            to keep its output; for an encoder's last layer, the encoder's output.
        source_kv: whether a target will read the source.
        context: of the sentences, (B,).
        capture: names of tensors inside the layers to keep (such as "positional" of TPDM), for a
            source that a target reads; names that no layer provides are missing from the state.
    """

    tokens: Tensor
    layer_outputs: Collection[int] = ()
    token_states: Sequence[tuple[int, Tensor]] = ()
    source_kv: bool = True
    context: TokenContext = NO_CONTEXT
    capture: Collection[str] = ()


@dataclass(frozen=True)
class SourceState:
    """Everything that a target, a criterion or a probe reads from a source.

    Attributes:
        padding: boolean (B, S), true at padding.
        source_kv: for each layer that the target passes, keys and values (B, H, S, E); empty if
            a target has already read them in the same pass.
        layer_outputs: requested outputs (B, S, D) by layer, from 1, before any adaptation or final
            norm.
        token_states: requested outputs (B, D) at one position of each sentence, in the order of
            the request; for an encoder's last layer, after the bridge.
        beams: number of target rows per sentence.
        context: of the sentences, (B,).
        captured: requested tensors (B, ...) by name.
    """

    padding: Tensor
    source_kv: Sequence[KeyValue]
    layer_outputs: dict[int, Tensor] = field(default_factory=dict)
    token_states: Sequence[Tensor] = ()
    beams: int = 1
    context: TokenContext = NO_CONTEXT
    captured: dict[str, Tensor] = field(default_factory=dict)

    @property
    def sentences(self) -> int:
        """B."""
        return self.padding.size(0)

    def select(self, sentences: Tensor) -> "SourceState":
        """The state of some sentences, given their indices (B',)."""

        def chosen(tensor: Tensor) -> Tensor:
            return tensor.index_select(0, sentences)

        return replace(
            self,
            padding=chosen(self.padding),
            source_kv=_SelectedKV.of(self.source_kv, sentences),
            layer_outputs={layer: chosen(output) for layer, output in self.layer_outputs.items()},
            token_states=[chosen(state) for state in self.token_states],
            context=self.context.index_select(0, sentences),
            captured={name: chosen(tensor) for name, tensor in self.captured.items()},
        )

    def reorder(self, rows: Tensor) -> "SourceState":
        """The state for new target rows, given as indices of the present rows (R',).

        The beams of a sentence share its state: nothing is copied while a search only permutes
        beams within sentences, and its first call, which repeats every sentence for each beam,
        only records the number of beams.
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


class _SelectedKV(Sequence[KeyValue]):
    """Keys and values of some sentences; a layer's are copied when it is first read."""

    def __init__(self, source_kv: Sequence[KeyValue], sentences: Tensor) -> None:
        self._source_kv: Sequence[KeyValue] = source_kv
        self._sentences = sentences
        self._read: dict[int, KeyValue] = {}

    @classmethod
    def of(cls, source_kv: Sequence[KeyValue], sentences: Tensor) -> "_SelectedKV":
        """Select from keys and values; a selection of a selection refers to the original."""
        if isinstance(source_kv, cls):
            return cls(source_kv._source_kv, source_kv._sentences.index_select(0, sentences))
        return cls(source_kv, sentences)

    def __len__(self) -> int:
        return len(self._source_kv)

    def __getitem__(self, layer: int) -> KeyValue:  # type: ignore[override]
        if layer not in self._read:
            selected = [part.index_select(0, self._sentences) for part in self._source_kv[layer]]
            self._read[layer] = KeyValue(*selected)
        return self._read[layer]
