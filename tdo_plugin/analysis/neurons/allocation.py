"""Allocation of general and specific neurons (Xie et al., 2021, sections 3.1, 3.2, appendix A).

Each module is allocated separately.

Shapes: P language pairs, G groups of them, W neurons of a module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import torch
from torch import Tensor

from tdo_plugin.neuron_files import Importance, Masks

WAYS = ("pair", "source", "target", "separate")


@dataclass(frozen=True)
class PairSummary:
    """The neurons allocated to a pair, over all modules.

    Attributes:
        specific: number of its neurons that are not general.
        alone: number of these that no other group has.
        share: of the model's neurons that are on for the pair, including general ones.
        without_specific: number of modules in which it has no specific neuron.
        without_any: names of modules in which it has no neuron at all.
    """

    specific: int
    alone: int
    share: float
    without_specific: int
    without_any: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """Statistics of an allocation.

    Attributes:
        modules: number of modules.
        neurons: number of neurons in all modules.
        general: number of neurons that every pair has.
        specific: number of other neurons.
        groups: mean number of groups that share a specific neuron; None if there are none.
        pairs: by pair.
    """

    modules: int
    neurons: int
    general: int
    specific: int
    groups: float | None
    pairs: dict[str, PairSummary]


def chosen(importance: Importance, pairs: Sequence[str]) -> Importance:
    """The rows of some pairs, in their order in ``importance``, which must have all of them."""
    rows = [row for row, pair in enumerate(importance.pairs) if pair in pairs]
    modules = {name: theta[rows] for name, theta in importance.modules.items()}
    return replace(importance, pairs=[importance.pairs[row] for row in rows], modules=modules)


def relative(importance: Importance) -> Importance:
    """Importance divided by the pair's mean in the module, unless that is 0.

    Not in the paper. Taylor importance grows with the gradient of the loss, so that between pairs
    with different losses it would compare the losses rather than neurons.
    """
    modules = {
        name: theta / theta.mean(1, keepdim=True).where(theta.any(1, keepdim=True), 1.0)
        for name, theta in importance.modules.items()
    }
    return replace(importance, modules=modules)


def groups_of(pairs: Sequence[str], by: str, side: str) -> list[str]:
    """The group of each pair, which shares its allocation in a module.

    Args:
        pairs: such as `de-en`.
        by: one of `WAYS`.
        side: of the module, `source` or `target`.
    """
    way = side if by == "separate" else by
    if way == "pair":
        return list(pairs)
    return [pair.split("-")[way == "target"] for pair in pairs]


def general_neurons(theta: Tensor, share: float) -> Tensor:
    """The neurons most important over all pairs (equation 1), (W,); among equals the first.

    Args:
        theta: importance, (P, W).
        share: rho, from 0 to 1: the share of neurons, rounded to a whole number.
    """
    order = theta.mean(0).argsort(descending=True, stable=True)
    general = torch.zeros(theta.shape[1], dtype=torch.bool)
    general[order[: round(share * len(order))]] = True
    return general


def important(theta: Tensor, threshold: float, groups: Sequence[str]) -> Tensor:
    """Whether a neuron is important enough for each pair's group (equation 9), (P, W).

    A group's importance is the mean over its pairs (ours; the paper does not define it).

    Args:
        theta: importance, (P, W).
        threshold: k, from 0 (all neurons) to 1 (the best, and any equal to it).
        groups: the group of each pair.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    index = torch.tensor([places[name] for name in groups])
    pooled = torch.stack([theta[index == place].mean(0) for place in places.values()])  # (G, W)
    return (pooled >= threshold * pooled.amax(0))[index]


def allocate(
    importance: Importance, share: float, threshold: float, by: str
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Allocate neurons to every pair.

    Args:
        importance: of the neurons to the pairs.
        share: rho, as in :func:`general_neurons`.
        threshold: k, as in :func:`important`.
        by: one of `WAYS`.

    Returns:
        modules: for each (P, W), true where a pair uses a neuron.
        general: for each (W,), true where all pairs do.
    """
    general = {name: general_neurons(theta, share) for name, theta in importance.modules.items()}
    modules = {}
    for name, theta in importance.modules.items():
        groups = groups_of(importance.pairs, by, importance.sides[name])
        modules[name] = general[name] | important(theta, threshold, groups)
    return modules, general


def summarize(masks: Masks, by: str, sides: Mapping[str, str]) -> Summary:
    """Statistics of the allocated neurons.

    Args:
        masks: of the pairs.
        by: the grouping of the allocation, one of `WAYS`.
        sides: of each module.
    """
    shared: list[Tensor] = []  # for each specific neuron the number of groups that have it
    alone = torch.zeros(len(masks.pairs), dtype=torch.long)
    for name, mask in masks.modules.items():
        groups = groups_of(masks.pairs, by, sides[name])
        first = torch.tensor([groups.index(group) == row for row, group in enumerate(groups)])
        specific = mask & ~masks.general[name]
        owners = specific[first].sum(0)
        alone += (specific & (owners == 1)).sum(1)
        shared.append(owners[~masks.general[name]])
    neurons = sum(len(general) for general in masks.general.values())
    general_count = sum(int(general.sum()) for general in masks.general.values())
    counts = torch.cat(shared).tolist()
    return Summary(
        modules=len(masks.modules),
        neurons=neurons,
        general=general_count,
        specific=neurons - general_count,
        groups=fmean(counts) if counts else None,
        pairs={
            pair: _summary_of(masks, row, int(alone[row]), neurons)
            for row, pair in enumerate(masks.pairs)
        },
    )


def _summary_of(masks: Masks, row: int, alone: int, neurons: int) -> PairSummary:
    on = {name: int(mask[row].sum()) for name, mask in masks.modules.items()}
    specific = {name: on[name] - int(masks.general[name].sum()) for name in on}
    return PairSummary(
        specific=sum(specific.values()),
        alone=alone,
        share=sum(on.values()) / neurons,
        without_specific=sum(not count for count in specific.values()),
        without_any=tuple(name for name, count in on.items() if not count),
    )
