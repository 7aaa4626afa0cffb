"""What is asked of a source, and what there is of it when it has passed its layers.

Shapes: B sentences, R = B * beams rows, S source, D model width, H heads, E head width.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.disentangler import Disentangled
from tdo_plugin.modules.languages import Languages


@dataclass(frozen=True)
class Reading:
    """A source, and what is wanted of it. It passes no layer that nothing is wanted of.

    Attributes:
        tokens: (B, S), padded on either side.
        states: layers, from 1, whose outputs are wanted.
        points: layers, from 1, each with the one real position (B,) of each sentence at which its
            output is wanted.
        memories: whether a target will read the source.
        languages: of the sentences, (B,); None where the model does not ask for them.
        disentangled: whether the embeddings of TPDM are wanted, of a source that a target reads.
    """

    tokens: Tensor
    states: Collection[int] = ()
    points: Sequence[tuple[int, Tensor]] = ()
    memories: bool = True
    languages: Languages | None = None
    disentangled: bool = False

    def __post_init__(self) -> None:
        if not (self.states or self.points or self.memories):
            raise ValueError("something must be wanted of a source")
        if self.disentangled and not self.memories:
            raise ValueError("only a source that a target reads is disentangled")


@dataclass(frozen=True)
class SourceState:
    """All that a target, a criterion or a probe reads of a source.

    Attributes:
        padding: boolean (B, S), true at padding.
        memories: for each layer that the target passes, keys and values (B, H, S, E); none where
            a target has passed them beside the source.
        states: outputs (B, S, D) of the layers that were asked for, by index from 1, before any
            adaptation or final norm.
        points: such outputs (B, D) at one position of each sentence, in the order of asking.
        beams: how many target rows share a sentence.
        languages: of the sentences, (B,), if the model asks for them.
        disentangled: the embeddings of TPDM, where they were asked for and the model has it.
    """

    padding: Tensor
    memories: Sequence[KeyValue]
    states: dict[int, Tensor] = field(default_factory=dict)
    points: Sequence[Tensor] = ()
    beams: int = 1
    languages: Languages | None = None
    disentangled: Disentangled | None = None

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
            points=[point.index_select(0, sentences) for point in self.points],
            languages=self.languages
            if self.languages is None
            else self.languages.index_select(0, sentences),
            disentangled=self.disentangled and self.disentangled.select(sentences),
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
