"""How alike two sets of sentence vectors are: sentence by sentence, or as sets by SVCCA.

Both first bring a set into a form of which only products are left to take, so that a set that is
compared with many others is brought there once. All is computed in double precision.

Shapes: N sentences, D model width, K and L directions that are kept of two sets.
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
    """One way to compare.

    Attributes:
        prepare: of a set (N, D), what is compared.
        similarity: of two such, the similarity from 0 to 1 of each sentence (N,), or of all (1,).
            It is not a number where a vector, or a set, does not vary.
        chance: of two such, about what similarity they would have for want of sentences, were they
            unrelated; 1: all sets are alike.
    """

    prepare: Callable[[Tensor], Tensor]
    similarity: Callable[[Tensor, Tensor], Tensor]
    chance: Callable[[Tensor, Tensor], float]


def forms(variance: float) -> dict[str, Form]:
    """Both, by name; `variance` is the share of it that SVCCA keeps, above 0 and at most 1."""
    return {
        "sentence": Form(_standardized, _correlations, lambda first, second: 0.0),
        "svcca": Form(partial(_subspace, variance=variance), _svcca, _chance),
    }


def _standardized(states: Tensor) -> Tensor:
    """Each vector (N, D) with mean 0 over its entries, and length 1."""
    centred: Tensor = states.double() - states.double().mean(1, keepdim=True)
    standardized: Tensor = centred / centred.norm(dim=1, keepdim=True)
    return standardized


def _correlations(first: Tensor, second: Tensor) -> Tensor:
    """|Pearson correlation| (N,) of two vectors over their entries.

    The published code calls a CCA for each sentence, of two matrices 1 x D, with D the number of
    samples. Of one variable a side, the one canonical correlation is this.
    """
    product: Tensor = first * second
    return product.sum(1).abs().clamp(max=1)


def _subspace(states: Tensor, variance: float) -> Tensor:
    """Orthonormal directions (N, K) of the sentences that hold a share of the variance.

    The SVD of SVCCA (Raghu et al., 2017): as few singular directions of the centred set as hold it,
    those of rounding, in the precision that the set comes in, never among them. K is 0 where the
    set does not vary.
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

    Between orthonormal bases of centred sets the canonical correlations are the singular values of
    their product; of the whitening that CCA is usually written with nothing is left to do.
    """
    correlations: Tensor = torch.linalg.svdvals(first.T @ second).clamp(max=1)
    return correlations.mean().reshape(1)


def _chance(first: Tensor, second: Tensor) -> float:
    """Root mean square of the canonical correlations of unrelated sets with as many directions.

    N centred sentences have N - 1 dimensions. Of subspaces of K and L of them that know nothing of
    each other the squared correlations add up to K L / (N - 1) on average, and there are min(K, L)
    of them. At 1, one subspace is all there is, and whatever is compared with it lies in it.
    """
    kept, room = max(first.size(1), second.size(1)), len(first) - 1
    return math.sqrt(kept / room) if kept < room else 1.0
