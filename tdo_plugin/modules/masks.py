"""Who may look at whom. True means visible.

Shapes: B sentences, S source, T new target positions, P target positions so far (P >= T), K keys
that a source position may see: S, or S + P where it sees a target's first symbol.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """The last of so many queries sees all keys, each earlier one a key less.

    On a GPU it is torch's description of such a mask, for which the kernels need no tensor; on a
    CPU, where they do, boolean (queries, keys).
    """
    if device.type == "cuda":
        from torch.nn.attention.bias import causal_lower_right  # takes a second to import

        return causal_lower_right(queries, keys)
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


@dataclass(frozen=True)
class SourceMask:
    """Visibility among source positions.

    No row of a softmax is empty: where later positions are hidden a padding position before the
    first token sees itself, and in a sentence without a token padding sees padding; no token ever
    does. Where nothing is padded there is no tensor: kernels are faster without.

    Attributes:
        padding: boolean (B, S), true at padding.
        padded: whether any is; true is always right.
        causal: hide later positions (the paper's appendix D).
        visible_target: boolean (B, P), which of a target's first P positions the source sees,
            too; these keys stand behind the source's then. None: it sees no target.
    """

    padding: Tensor
    padded: bool
    causal: bool
    visible_target: Tensor | None = None

    @cached_property
    def whole(self) -> Tensor | None:
        """Boolean (B, 1, S, K), or (B, 1, 1, K) where every query sees the same; None: all.

        For a causal source without padding what :func:`causal_mask` gives.
        """
        length = self.padding.size(1)
        if not self.causal:
            if not self.padded:
                return self._with_target(None)
            visible = ~self.padding | self.padding.all(1, keepdim=True)
            return self._with_target(visible[:, None, None, :])
        if not self.padded and self.visible_target is None:
            return causal_mask(length, length, self.padding.device)
        ones = torch.ones(length, length, dtype=torch.bool, device=self.padding.device)
        visible = ~self.padding[:, None, None, :] & ones.tril()
        itself = torch.eye(length, dtype=torch.bool, device=self.padding.device)
        return self._with_target(visible | itself)

    def at(self, positions: Tensor) -> Tensor | None:
        """What one real position (B,) of each sentence sees: (B, 1, 1, K); None: all."""
        if not (self.causal or self.padded):
            return self._with_target(None)
        visible = ~self.padding
        if self.causal:
            places = torch.arange(self.padding.size(1), device=self.padding.device)
            visible = visible & (places <= positions[:, None])
        return self._with_target(visible[:, None, None, :])

    def _with_target(self, visible: Tensor | None) -> Tensor | None:
        """A mask (B, 1, Q, S) over the source, and over what it sees of the target."""
        if self.visible_target is None:
            return visible
        if visible is None:
            if self.visible_target.size(1) == 1:  # a first symbol is never padding
                return None
            visible = torch.ones_like(self.padding)[:, None, None, :]
        target = self.visible_target[:, None, None, :].expand(-1, 1, visible.size(2), -1)
        return torch.cat([visible, target], -1)


@dataclass(frozen=True)
class TargetMask:
    """Visibility for target queries, of the source and of the target so far.

    Attributes:
        source: boolean (B, 1, 1, S).
        target: boolean (B or 1, 1, T, P).
        padding: boolean (rows, P), true at padding of the target so far.
        padded: whether anything is hidden but later positions; true is always right.
    """

    source: Tensor
    target: Tensor
    padding: Tensor
    padded: bool = True

    @property
    def over_source(self) -> Tensor | None:
        """(B, 1, 1, S); None where all is seen."""
        return self.source if self.padded else None

    @property
    def over_target(self) -> Tensor:
        """(B or 1, 1, T, P), or a mask for all sentences."""
        if self.padded:
            return self.target
        queries, keys = self.target.shape[2:]
        return causal_mask(queries, keys, self.target.device)

    @cached_property
    def joint(self) -> Tensor:
        """Over [source ; target]: (B, 1, T, S + P), or a mask for all sentences."""
        sentences, length = self.source.size(0), self.target.size(2)
        if not self.padded:
            keys = self.source.size(3) + self.target.size(3)
            return causal_mask(length, keys, self.source.device)
        return torch.cat(
            [
                self.source.expand(sentences, 1, length, -1),
                self.target.expand(sentences, 1, length, -1),
            ],
            -1,
        )


def target_mask(
    source_padding: Tensor, new: int, padding: Tensor, padded: bool = True
) -> TargetMask:
    """Visibility for the last ``new`` of P target positions: the source and no later target.

    Args:
        source_padding: boolean (B, S), true at padding.
        new: T, how many positions ask.
        padding: boolean (rows, P), true at padding, of all target positions so far.
        padded: whether a source is padded, or a target on its left.
    """
    total = padding.size(1)
    ones = torch.ones(new, total, dtype=torch.bool, device=padding.device)
    earlier = ones.tril(total - new)
    itself = earlier & ~ones.tril(total - new - 1)
    # left padding only ever hides what stands before a token; padding on the right is later
    # than every real query, so that causality alone hides it
    visible = (earlier & ~padding[:, None, None, :]) | itself
    return TargetMask(~source_padding[:, None, None, :], visible, padding, padded)


def first_symbol(padding: Tensor, left: bool) -> Tensor:
    """Where the first symbol of a target stands: boolean (B, P), true once in a row.

    Args:
        padding: boolean (B, T), true at padding of the target.
        left: whether a target is padded on its left; elsewhere P = 1, all true.
    """
    if not left:
        return torch.ones_like(padding[:, :1])
    real = ~padding
    return real & real.cumsum(1).eq(1)
