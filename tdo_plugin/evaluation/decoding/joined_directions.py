"""Sentences of several directions as one data set, so that one search translates them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairseq.data import ConcatDataset


class JoinedDirections(ConcatDataset):  # type: ignore[misc]  # fairseq has no types
    """Data sets for inference, one after the other, their sentences numbered from 0.

    Each sentence keeps the tag and the language ids of its direction.

    Args:
        datasets: as a multilingual task builds them for inference.
    """

    def __init__(self, datasets: Sequence[Any]) -> None:
        super().__init__(list(datasets))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {**super().__getitem__(index), "id": index}
