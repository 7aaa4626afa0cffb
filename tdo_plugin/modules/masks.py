"""Attention masks. True means visible.

Shapes: B sentences, S source, T new target positions, P target positions so far (P >= T), K keys
that a source position may see: S, or S + P if sources see the target's first symbol.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """The last query sees all keys, each earlier query one key less.

    On a GPU this is torch's description of such a mask, for which kernels need no tensor; on a
    CPU, where kernels need a tensor, it is boolean (queries, keys).
    """
    if device.type == "cuda":
        from torch.nn.attention.bias import causal_lower_right  # takes a second to import

        return causal_lower_right(queries, keys)
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def additive(mask: Tensor, dtype: torch.dtype, hidden: float) -> Tensor:
    """A boolean mask as numbers to add to scores: 0 where it is true, otherwise ``hidden``."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, hidden)


@dataclass(frozen=True)
class SourceMask:
    """Visibility among source positions.

    Every query sees at least one key, so that no softmax is empty: in a causal source, a padding
    position before the first token sees itself, and in a sentence without tokens padding sees
    padding. Tokens never see padding. If nothing is padded there is no mask tensor, since kernels
    are faster without.

    Attributes:
        padding: boolean (B, S), true at padding.
        padded: whether there is any padding; true is always correct.
        causal: hide later positions (the TDO paper's appendix D).
        visible_target: boolean (B, P), which of the target's first P positions the source sees;
            their keys follow the source's. None: the source sees no target.
    """

    padding: Tensor
    padded: bool
    causal: bool
    visible_target: Tensor | None = None

    @cached_property
    def whole(self) -> Tensor | None:
        """Boolean (B, 1, S, K), or (B, 1, 1, K) if all queries see the same; None: all visible.

        For a causal source without padding, the result of :func:`causal_mask`.
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
        """What one token (B,) of each sentence sees: (B, 1, 1, K); None: all visible."""
        if not (self.causal or self.padded):
            return self._with_target(None)
        visible = ~self.padding
        if self.causal:
            places = torch.arange(self.padding.size(1), device=self.padding.device)
            visible = visible & (places <= positions[:, None])
        return self._with_target(visible[:, None, None, :])

    def _with_target(self, visible: Tensor | None) -> Tensor | None:
        """A mask (B, 1, Q, S) over the source, extended by the target positions it sees."""
        if self.visible_target is None:
            return visible
        if visible is None:
            if self.visible_target.size(1) == 1:  # the first symbol is never padding
                return None
            visible = torch.ones_like(self.padding)[:, None, None, :]
        target = self.visible_target[:, None, None, :].expand(-1, 1, visible.size(2), -1)
        return torch.cat([visible, target], -1)


@dataclass(frozen=True)
class TargetMask:
    """Visibility of the source and of the target so far, for target queries.

    Attributes:
        source: boolean (B, 1, 1, S), or numbers to add to scores.
        target: boolean (B or 1, 1, T, P), or numbers to add to scores.
        padding: boolean (rows, P), true at padding of the target so far.
        padded: whether anything but later positions is hidden; true is always correct.
    """

    source: Tensor
    target: Tensor
    padding: Tensor
    padded: bool = True

    def as_numbers(self, dtype: torch.dtype) -> "TargetMask":
        """The mask as numbers to add to scores, which torch would compute in every layer.

        The lowest finite number hides a position, so that no softmax is empty.
        """
        source, target = (
            additive(mask, dtype, torch.finfo(dtype).min) for mask in (self.source, self.target)
        )
        return TargetMask(source, target, self.padding, self.padded)

    @property
    def over_source(self) -> Tensor | None:
        """(B, 1, 1, S); None: all visible."""
        return self.source if self.padded else None

    @property
    def over_target(self) -> Tensor:
        """(B or 1, 1, T, P), or one mask for all sentences."""
        if self.padded:
            return self.target
        queries, keys = self.target.shape[2:]
        return causal_mask(queries, keys, self.target.device)

    @cached_property
    def joint(self) -> Tensor:
        """Over [source ; target]: (B, 1, T, S + P), or one mask for all sentences."""
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
        new: T, the number of queries.
        padding: boolean (rows, P), true at padding, of all target positions so far.
        padded: whether a source has padding, or a target has left padding.
    """
    total = padding.size(1)
    ones = torch.ones(new, total, dtype=torch.bool, device=padding.device)
    earlier = ones.tril(total - new)
    itself = earlier & ~ones.tril(total - new - 1)
    # left padding is always earlier than tokens; right padding is later than all tokens, so the
    # causal mask hides it
    visible = (earlier & ~padding[:, None, None, :]) | itself
    return TargetMask(~source_padding[:, None, None, :], visible, padding, padded)


def first_symbol(padding: Tensor, left: bool) -> Tensor:
    """The position of the target's first symbol: boolean (B, P), true once in a row.

    Args:
        padding: boolean (B, T), true at padding of the target.
        left: whether any target has left padding; otherwise P = 1, all true.
    """
    if not left:
        return torch.ones_like(padding[:, :1])
    real = ~padding
    return real & real.cumsum(1).eq(1)
