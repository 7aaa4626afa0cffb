"""Similarity of two sets of sentence vectors: sentence by sentence, or of the sets by SVCCA.

Both forms first transform a set so that only products remain to be computed; a set that is compared
with many others is transformed once. All computations are in double precision.

Shapes: N sentences, D model width, K and L directions kept from two sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor


@dataclass(frozen=True)
class Form:
    """A form of similarity.

    Attributes:
        prepare: transforms a set (N, D) for comparison.
        similarity: for two transformed sets, the similarity from 0 to 1 of each sentence (N,), or
            of the sets (1,). NaN if a vector, or a set, has no variance.
        chance: for two transformed sets, the approximate similarity of unrelated sets of this
            size; 1: all sets are equal.
    """

    prepare: Callable[[Tensor], Tensor]
    similarity: Callable[[Tensor, Tensor], Tensor]
    chance: Callable[[Tensor, Tensor], float]


def forms(variance: float) -> dict[str, Form]:
    """Both forms by name; `variance` is the share that SVCCA keeps, above 0 and at most 1."""
    return {
        "sentence": Form(_standardized, _correlations, lambda first, second: 0.0),
        "svcca": Form(partial(_subspace, variance=variance), _svcca, _chance),
    }


def _standardized(states: Tensor) -> Tensor:
    """Each vector (N, D) centred over its entries and normalised to length 1."""
    centred: Tensor = states.double() - states.double().mean(1, keepdim=True)
    standardized: Tensor = centred / centred.norm(dim=1, keepdim=True)
    return standardized


def _correlations(first: Tensor, second: Tensor) -> Tensor:
    """|Pearson correlation| (N,) of two vectors over their entries.

    The published code runs a CCA for each sentence, on two 1 x D matrices with D samples. With one
    variable on each side, the only canonical correlation is this one.
    """
    product: Tensor = first * second
    return product.sum(1).abs().clamp(max=1)


def _subspace(states: Tensor, variance: float) -> Tensor:
    """Orthonormal directions (N, K) of the sentences that hold a share of the variance.

    The SVD step of SVCCA (Raghu et al., 2017): the fewest singular directions of the centred set
    that hold the share, without directions that are rounding errors in the set's precision. K is 0
    if the set has no variance.
    """
    centred = states.double() - states.double().mean(0)
    directions, spread, _ = torch.linalg.svd(centred, full_matrices=False)
    smallest = spread[0] * max(centred.shape) * torch.finfo(states.dtype).eps
    rank = int((spread > smallest).sum())
    held = spread[:rank].square().cumsum(0)
    enough = int((held < variance * held[-1:]).sum()) + 1
    subspace: Tensor = directions[:, : min(enough, rank)]
    return subspace


def _svcca(first: Tensor, second: Tensor) -> Tensor:
    """Mean canonical correlation (1,) of two subspaces (N, K), (N, L).

    For orthonormal bases of centred sets the canonical correlations are the singular values of
    their product; no whitening as in usual formulations of CCA is needed.
    """
    correlations: Tensor = torch.linalg.svdvals(first.T @ second).clamp(max=1)
    return correlations.mean().reshape(1)


def _chance(first: Tensor, second: Tensor) -> float:
    """Root mean square of the canonical correlations of unrelated sets with as many directions.

    N centred sentences span N - 1 dimensions. For independent subspaces of K and L dimensions the
    squared correlations sum to K L / (N - 1) on average, and there are min(K, L) of them. At 1,
    one subspace is the whole space and contains the other.
    """
    kept, room = max(first.size(1), second.size(1)), len(first) - 1
    return math.sqrt(kept / room) if kept < room else 1.0
