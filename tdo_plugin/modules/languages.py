"""What parts of their own languages, and pairs of them, have for a sentence or a position.

Shapes: B sentences, N positions, (...) those of whatever is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Languages:
    """Rows (...) of what sentences, or positions, have for themselves; None where nobody asks.

    It is passed on like a tensor of languages: what is done to it is done to each kind of row.

    Attributes:
        norm: of language-aware norms; the target language, but for positions that have none.
        target: of other parts for each target language.
        pair: of parts for each pair of languages.
        neurons: of the masks of neurons.
    """

    norm: Tensor | None = None
    target: Tensor | None = None
    pair: Tensor | None = None
    neurons: Tensor | None = None

    @classmethod
    def of_targets(cls, targets: Tensor) -> Languages:
        """Where only target languages matter, by index (...) from 0."""
        return cls(norm=targets, target=targets)

    @classmethod
    def joined(cls, parts: Sequence[Languages], dim: int = 0) -> Languages:
        """Several side by side, all with rows of the same kinds."""
        kinds = zip(*(part._kinds for part in parts), strict=True)
        return cls(*(None if kind[0] is None else torch.cat(kind, dim) for kind in kinds))

    @property
    def _kinds(self) -> tuple[Tensor | None, ...]:
        return self.norm, self.target, self.pair, self.neurons

    def __len__(self) -> int:
        return len(next(rows for rows in self._kinds if rows is not None))

    def __getitem__(self, places: Any) -> Languages:
        return self._each(lambda rows: rows[places])

    def expand(self, *shape: Any) -> Languages:
        return self._each(lambda rows: rows.expand(*shape))

    def flatten(self) -> Languages:
        return self._each(Tensor.flatten)

    def index_select(self, dim: int, places: Tensor) -> Languages:
        return self._each(lambda rows: rows.index_select(dim, places))

    def repeat_interleave(self, times: int) -> Languages:
        return self._each(lambda rows: rows.repeat_interleave(times))

    def to(self, device: torch.device) -> Languages:
        return self._each(lambda rows: rows.to(device))

    def with_norm(self, row: int) -> Languages:
        """All of one row of language-aware norms, where there are any."""
        return self if self.norm is None else replace(self, norm=torch.full_like(self.norm, row))

    def _each(self, change: Callable[[Tensor], Tensor]) -> Languages:
        return Languages(*(rows if rows is None else change(rows) for rows in self._kinds))
