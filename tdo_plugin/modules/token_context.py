"""Indices that travel with a token through the layers, for the parts that need them.

Shapes: B sentences, N tokens, (...) any shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class TokenContext:
    """Indices (...) per sentence or per token; a kind is None if no part of the model reads it.

    Used like a tensor: an operation on the context applies to each kind of index.

    Attributes:
        norm: row of language-aware norms: the target language's, or the shared row.
        target: target language, from 0, for other parameters per target language.
        pair: language pair, for parameters per pair.
        neurons: row of the neuron masks.
        position: as in :func:`.translation_model.count_positions`; per token only.
    """

    norm: Tensor | None = None
    target: Tensor | None = None
    pair: Tensor | None = None
    neurons: Tensor | None = None
    position: Tensor | None = None

    @classmethod
    def of_targets(cls, targets: Tensor) -> TokenContext:
        """The context if only target languages matter, given their indices (...) from 0."""
        return cls(norm=targets, target=targets)

    @classmethod
    def cat(cls, parts: Sequence[TokenContext], dim: int = 0) -> TokenContext:
        """As ``torch.cat``, for contexts with the same kinds of indices."""
        kinds = zip(*(part._kinds for part in parts), strict=True)
        return cls(*(None if kind[0] is None else torch.cat(kind, dim) for kind in kinds))

    @property
    def _kinds(self) -> tuple[Tensor | None, ...]:
        return tuple(getattr(self, kind.name) for kind in fields(self))

    @classmethod
    def side_by_side(cls, parts: Sequence[TokenContext], lengths: Sequence[int]) -> TokenContext:
        """Contexts (B, 1) or (B, length) joined along the length: (B, sum of lengths)."""
        pairs = zip(parts, lengths, strict=True)
        return cls.cat([part.expand(-1, length) for part, length in pairs], 1)

    def __getitem__(self, places: Any) -> TokenContext:
        return self._each(lambda index: index[places])

    def at(self, rows: Tensor, positions: Tensor) -> TokenContext:
        """The context (B, 1) or (B, L) at indices (...) of sentences and positions."""
        return self._each(lambda index: index[rows, 0 if index.size(1) == 1 else positions])

    def flat(self, sentences: int, length: int) -> TokenContext:
        """The context (B, 1) or (B, L) of each token: (B * L,)."""
        return self._each(lambda index: index.expand(sentences, length).flatten())

    def expand(self, *shape: Any) -> TokenContext:
        return self._each(lambda index: index.expand(*shape))

    def index_select(self, dim: int, places: Tensor) -> TokenContext:
        return self._each(lambda index: index.index_select(dim, places))

    def repeat_interleave(self, times: int) -> TokenContext:
        return self._each(lambda index: index.repeat_interleave(times, 0))

    def to(self, device: torch.device) -> TokenContext:
        return self._each(lambda index: index.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> TokenContext:
        if self is NO_CONTEXT:  # most models have no other, and use it in every layer of a step
            return self
        return TokenContext(*(kind if kind is None else change(kind) for kind in self._kinds))


NO_CONTEXT = TokenContext()
