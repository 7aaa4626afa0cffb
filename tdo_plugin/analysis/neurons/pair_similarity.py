"""Similarity of language pairs by their neurons.

Shapes: P language pairs, W neurons of a module.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from tdo_plugin.analysis.neurons.specific import specific_neurons
from tdo_plugin.errors import UserError
from tdo_plugin.neuron_files import Importance, Masks, place_of

Kind = tuple[str, str, str]  # stack, part and neurons, as in `Place`


@dataclass(frozen=True)
class Tree:
    """Pairs grouped step by step, the most similar first.

    Attributes:
        steps: for each step the two groups that are joined, their distance, and the number of
            pairs. Groups are numbers: pairs from 0, then the groups of the steps.
        order: pairs by number, such that no lines of the tree cross.
        lines: for drawing, the four corners of each step along the pairs, at 5, 15, 25, ...
        heights: the distances of these corners.
    """

    steps: list[tuple[int, int, float, int]]
    order: list[int]
    lines: list[list[float]]
    heights: list[list[float]]


def jaccard(masks: Masks) -> Tensor:
    """For each two pairs, their common specific neurons divided by those of either, (P, P).

    Over all modules together. Two pairs without specific neurons have similarity 1.
    """
    specific = torch.cat(list(specific_neurons(masks).values()), 1).double()
    both = specific @ specific.T
    counts = both.diagonal()
    either = counts[:, None] + counts - both
    return torch.where(either > 0, both / either.clamp(min=1), 1.0)


def spearman(theta: Tensor) -> Tensor:
    """For each two pairs, the rank correlation of their neurons' importance, (P, P).

    NaN if all neurons are equally important to a pair.

    Args:
        theta: importance, (P, W).
    """
    correlations: Tensor = torch.corrcoef(torch.stack([_ranks(row) for row in theta]))
    return correlations.reshape(2 * [len(theta)])


def _ranks(values: Tensor) -> Tensor:
    """Ranks from 1; equal values have their mean rank."""
    _, inverse, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    ranks: Tensor = (last - (counts - 1) / 2)[inverse]
    return ranks


def spearman_by_kind(importance: Importance) -> dict[Kind, Tensor]:
    """:func:`spearman` for each kind of module, averaged over layers, (P, P)."""
    similarities: dict[Kind, list[Tensor]] = {}
    for name, theta in importance.modules.items():
        place = place_of(name)
        kind = (place.stack, place.part, place.neurons)
        similarities.setdefault(kind, []).append(spearman(theta))
    return {kind: torch.stack(each).nanmean(0) for kind, each in similarities.items()}


def check_scipy(option: str) -> None:
    """Raise UserError if scipy, which :func:`tree` needs, is missing."""
    if find_spec("scipy") is None:
        raise UserError(
            f"`{option}` must have scipy installed, to group pairs (pip install "
            "'tdo_plugin[report]'); it is not installed"
        )


def tree(similarity: Tensor) -> Tree:
    """Group pairs by average linkage on 1 - similarity.

    Args:
        similarity: of two or more pairs, (P, P), symmetric, from 0 to 1.
    """
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    steps = linkage(squareform((1 - similarity).numpy(), checks=False), "average")
    drawn = dendrogram(steps, no_plot=True)
    return Tree(
        [
            (int(left), int(right), float(height), int(count))
            for left, right, height, count in steps
        ],
        drawn["leaves"],
        drawn["icoord"],
        drawn["dcoord"],
    )
