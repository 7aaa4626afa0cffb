"""Accuracies of a probe by class and type of token, and of guesses that see no state.

Shapes: N tokens, V vocabulary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import torch
from torch import Tensor


def by_class(right: Tensor, members: Mapping[str, Tensor]) -> dict[str, float]:
    """Share of the tokens of each class that are right, of classes that have tokens (figure 2).

    Args:
        right: (N,), 1 or true where a token's position was found; of several probes their mean.
        members: boolean (N,) for each class.
    """
    values = right.double()
    return {name: float(values[mask].mean()) for name, mask in members.items() if mask.any()}


def by_type(tokens: Tensor, right: Tensor, size: int) -> Tensor:
    """Share of each type's tokens that are right, (V,), double precision; NaN where it has none.

    Args:
        tokens: ids (N,).
        right: as of `by_class`.
        size: V.
    """
    counts = torch.bincount(tokens, minlength=size)
    sums = torch.bincount(tokens, right.double(), minlength=size)
    return sums / counts


def risen(after: Tensor, before: Tensor) -> Tensor:
    """Types (V,) whose accuracy is higher: Δ = after - before > 0 (table 4); NaN never is."""
    return after > before


def shares(types: Tensor, members: Mapping[str, Tensor]) -> dict[str, float]:
    """Share of each class among some types of the vocabulary (table 4); 0 of no types.

    Args:
        types: boolean (V,).
        members: boolean (V,) for each class.
    """
    count = max(1, int(types.sum()))
    return {name: int((types & mask).sum()) / count for name, mask in members.items()}


def guess_most_frequent(positions: Tensor, test_positions: Tensor) -> Tensor:
    """Whether the most frequent training position is the true one, (N,).

    Args:
        positions: of the training's tokens.
        test_positions: true positions (N,).
    """
    return test_positions == _first(Counter(positions.tolist()))


def guess_by_type(tokens: Tensor, positions: Tensor, test_tokens: Tensor, true: Tensor) -> Tensor:
    """Whether a type's own most frequent training position is the true one, (N,).

    What the word alone tells: many begin or end sentences. A type that was not seen gets the
    position that is most frequent of all.

    Args:
        tokens: of the training.
        positions: of these.
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
    """The most frequent; of equals the least."""
    return max(counted, key=lambda position: (counted[position], -position))
