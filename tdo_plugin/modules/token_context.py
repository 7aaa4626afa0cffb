"""Indices that travel with a token through the layers, for the parts that need them.

Shapes: B sentences, N tokens, (...) any shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

KINDS = ("norm", "target", "pair", "neurons", "position")


class RowCounts:
    """How many sentences each row of parameters has, read from the device once for all layers.

    Args:
        index: row of each sentence, (...).
    """

    def __init__(self, index: Tensor) -> None:
        self._index = index

    @cached_property
    def of_sentences(self) -> Counter[int]:
        """The number of sentences of each row; the first use waits for the device."""
        return Counter(self._index.flatten().tolist())

    @property
    def known(self) -> bool:
        """Whether they have been read."""
        return "of_sentences" in vars(self)

    def sizes(self, tokens: int) -> dict[int, int]:
        """The number of tokens of each row, in the order of the rows.

        Args:
            tokens: of all sentences, the same number for each sentence.
        """
        each, counts = tokens // max(self._index.numel(), 1), self.of_sentences
        return {row: counts[row] * each for row in sorted(counts) if each}


class Rows(NamedTuple):
    """The row of parameters of each token, (...), and the number of sentences of each row."""

    of_tokens: Tensor
    counts: RowCounts


@dataclass(frozen=True)
class TokenContext:
    """Indices (...) per sentence or per token; a kind is None if no part of the model reads it.

    Used like a tensor: an operation on the context applies to each kind of index. Operations that
    keep all sentences, with the same number of tokens of each, also keep the counts.

    Attributes:
        norm: row of language-aware norms: the target language's, or the shared row.
        target: target language, from 0, for other parameters per target language.
        pair: language pair, for parameters per pair.
        neurons: row of the neuron masks.
        position: as in :func:`.translation_model.count_positions`; per token only.
        counts: of the sentences by target language and by pair, for :meth:`rows`.
    """

    norm: Tensor | None = None
    target: Tensor | None = None
    pair: Tensor | None = None
    neurons: Tensor | None = None
    position: Tensor | None = None
    counts: dict[str, RowCounts] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        present = {kind: getattr(self, kind) for kind in ("target", "pair")}
        missing = {
            kind: RowCounts(index)
            for kind, index in present.items()
            if index is not None and kind not in self.counts
        }
        if missing:  # another dictionary, since contexts of other sentences may have this one
            object.__setattr__(self, "counts", {**self.counts, **missing})

    @classmethod
    def of_targets(cls, targets: Tensor) -> TokenContext:
        """The context if only target languages matter, given their indices (...) from 0."""
        return cls(norm=targets, target=targets)

    @classmethod
    def cat(cls, parts: Sequence[TokenContext], dim: int = 0) -> TokenContext:
        """As ``torch.cat``, for contexts with the same kinds of indices."""
        if not parts:
            return NO_CONTEXT
        kinds = zip(*(part._kinds for part in parts), strict=True)
        distinct = {id(part.counts): part.counts for part in parts}
        counts = next(iter(distinct.values())) if len(distinct) == 1 else {}  # of one batch
        joined = (None if kind[0] is None else torch.cat(kind, dim) for kind in kinds)
        return cls._of(joined, counts)

    @classmethod
    def _of(cls, kinds: Iterable[Tensor | None], counts: dict[str, RowCounts]) -> TokenContext:
        norm, target, pair, neurons, position = kinds
        return cls(norm, target, pair, neurons, position, counts)

    def rows(self, kind: Literal["target", "pair"]) -> Rows:
        """The rows of a kind of parameters that the context has."""
        return Rows(getattr(self, kind), self.counts[kind])

    def counted(self) -> TokenContext:
        """The same context, after it has waited for the device to count the sentences."""
        for counts in self.counts.values():
            counts.of_sentences  # noqa: B018  # read and kept
        return self

    @property
    def _kinds(self) -> tuple[Tensor | None, ...]:
        return tuple(getattr(self, kind) for kind in KINDS)

    @classmethod
    def side_by_side(cls, parts: Sequence[TokenContext], lengths: Sequence[int]) -> TokenContext:
        """Contexts (B, 1) or (B, length) joined along the length: (B, sum of lengths)."""
        pairs = zip(parts, lengths, strict=True)
        return cls.cat([part.expand(-1, length) for part, length in pairs], 1)

    def __getitem__(self, places: Any) -> TokenContext:
        chosen = self._each(lambda index: index[places])
        of_all = isinstance(places, tuple) and places[0] == slice(None)
        return chosen if of_all else replace(chosen, counts={})

    def at(self, rows: Tensor, positions: Tensor) -> TokenContext:
        """The context (B, 1) or (B, L) at indices (...) of sentences and positions."""
        return self._each(lambda index: index[rows, 0 if index.size(1) == 1 else positions])

    def flat(self, sentences: int, length: int) -> TokenContext:
        """The context (B, 1) or (B, L) of each token: (B * L,)."""
        return self._each(lambda index: index.expand(sentences, length).flatten())

    def expand(self, *shape: Any) -> TokenContext:
        return self._each(lambda index: index.expand(*shape))

    def index_select(self, dim: int, places: Tensor) -> TokenContext:
        """Any sentences or tokens, which are counted again."""
        chosen = replace(self.alike(places, dim), counts={})
        return chosen.counted() if any(kind.known for kind in self.counts.values()) else chosen

    def alike(self, places: Tensor, dim: int = 0) -> TokenContext:
        """As :meth:`index_select`, for tokens of which every sentence has the same number."""
        return self._each(lambda index: index.index_select(dim, places))

    def repeat_interleave(self, times: int) -> TokenContext:
        return self._each(lambda index: index.repeat_interleave(times, 0))

    def to(self, device: torch.device) -> TokenContext:
        return self._each(lambda index: index.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> TokenContext:
        if self is NO_CONTEXT:  # most models have no other, and use it in every layer of a step
            return self
        changed = (kind if kind is None else change(kind) for kind in self._kinds)
        return self._of(changed, self.counts)


NO_CONTEXT = TokenContext()
