"""Who may look at whom. True means visible.

Shapes: B sentences, S source, T new target positions, P target positions so far (P >= T).
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


def source_mask(padding: Tensor, causal: bool) -> Tensor:
    """Visibility among source positions.

    A position always sees itself, so that no row of a softmax is empty, not even that of a
    padding position before the first token; nobody else sees padding.

    Args:
        padding: boolean (B, S), true at padding.
        causal: hide later positions (the paper's appendix D).

    Returns:
        boolean (B, 1, S, S), or (B, 1, 1, S) where every query sees the same.
    """
    visible = ~padding[:, None, None, :]
    if not causal:
        return visible
    length = padding.size(1)
    ones = torch.ones(length, length, dtype=torch.bool, device=padding.device)
    return (visible & ones.tril()) | torch.eye(length, dtype=torch.bool, device=padding.device)


@dataclass(frozen=True)
class TargetMask:
    """Visibility for target queries, of the source and of the target so far.

    Attributes:
        source: boolean (B, 1, 1, S).
        target: boolean (B or 1, 1, T, P).
    """

    source: Tensor
    target: Tensor

    @cached_property
    def joint(self) -> Tensor:
        """Over [source ; target]: (B, 1, T, S + P)."""
        sentences, length = self.source.size(0), self.target.size(2)
        return torch.cat(
            [
                self.source.expand(sentences, 1, length, -1),
                self.target.expand(sentences, 1, length, -1),
            ],
            -1,
        )


def target_mask(source_padding: Tensor, new: int, padding: Tensor) -> TargetMask:
    """Visibility for the last ``new`` of P target positions: the source and no later target.

    Args:
        source_padding: boolean (B, S), true at padding.
        new: T, how many positions ask.
        padding: boolean (rows, P), true at padding, of all target positions so far.
    """
    total = padding.size(1)
    ones = torch.ones(new, total, dtype=torch.bool, device=padding.device)
    earlier = ones.tril(total - new)
    itself = earlier & ~ones.tril(total - new - 1)
    # left padding only ever hides what stands before a token; padding on the right is later
    # than every real query, so that causality alone hides it
    visible = (earlier & ~padding[:, None, None, :]) | itself
    return TargetMask(~source_padding[:, None, None, :], visible)
