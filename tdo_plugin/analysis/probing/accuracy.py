"""Accuracies of a probe by class and type of token, and of baselines that see no state.

Shapes: N tokens, V vocabulary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import torch
from torch import Tensor


def by_class(right: Tensor, members: Mapping[str, Tensor]) -> dict[str, float]:
    """Accuracy on the tokens of each class that has tokens (figure 2).

    Args:
        right: (N,), 1 or true where a token's position was predicted; the mean for several probes.
        members: boolean (N,) for each class.
    """
    values = right.double()
    return {name: float(values[mask].mean()) for name, mask in members.items() if mask.any()}


def by_type(tokens: Tensor, right: Tensor, size: int) -> Tensor:
    """Accuracy on the tokens of each type, (V,), in double precision; NaN for types without tokens.

    Args:
        tokens: ids (N,).
        right: as in `by_class`.
        size: V.
    """
    counts = torch.bincount(tokens, minlength=size)
    sums = torch.bincount(tokens, right.double(), minlength=size)
    return sums / counts


def risen(after: Tensor, before: Tensor) -> Tensor:
    """Types (V,) whose accuracy is higher: Δ = after - before > 0 (table 4); false for NaN."""
    return after > before


def shares(types: Tensor, members: Mapping[str, Tensor]) -> dict[str, float]:
    """The share of each class among some types of the vocabulary (table 4); 0 without types.

    Args:
        types: boolean (V,).
        members: boolean (V,) for each class.
    """
    count = max(1, int(types.sum()))
    return {name: int((types & mask).sum()) / count for name, mask in members.items()}


def guess_most_frequent(positions: Tensor, test_positions: Tensor) -> Tensor:
    """Baseline: whether the most frequent training position is correct, (N,).

    Args:
        positions: of the training tokens.
        test_positions: correct positions (N,).
    """
    return test_positions == _first(Counter(positions.tolist()))


def guess_by_type(tokens: Tensor, positions: Tensor, test_tokens: Tensor, true: Tensor) -> Tensor:
    """Baseline: whether a type's most frequent training position is correct, (N,).

    Shows what the word alone reveals, since many words begin or end sentences. For unseen types
    the most frequent position of all is predicted.

    Args:
        tokens: of the training.
        positions: of the training tokens.
        test_tokens: tokens (N,).
        true: their positions (N,).
    """
    counted: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for token, position in zip(tokens.tolist(), positions.tolist(), strict=True):
        counted[token][position] += 1
    usual = _first(Counter(positions.tolist()))
    guesses = {token: _first(counts) for token, counts in counted.items()}
    return torch.tensor([guesses.get(token, usual) for token in test_tokens.tolist()]).eq(true)


def _first(counted: Counter[int]) -> int:
    """The most frequent position; among equals the smallest."""
    return max(counted, key=lambda position: (counted[position], -position))
