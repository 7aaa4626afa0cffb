"""Neurons of all pairs, and of some (Xie et al., 2021, sections 3.1 and 3.2 and appendix A).

Each module is allocated on its own.

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
    """What a pair was given, over all modules.

    Attributes:
        specific: how many neurons it has that are not everybody's.
        alone: how many of them no other group has.
        share: of the model's neurons that are on for it, the general ones included.
        without_specific: modules in which it has none that is specific.
        without_any: modules in which it has none at all, by name.
    """

    specific: int
    alone: int
    share: float
    without_specific: int
    without_any: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """An allocation in numbers.

    Attributes:
        modules: how many there are.
        neurons: of all modules.
        general: of them, those of every pair.
        specific: the others.
        groups: how many share a specific neuron, on average; None where there are none.
        pairs: by pair.
    """

    modules: int
    neurons: int
    general: int
    specific: int
    groups: float | None
    pairs: dict[str, PairSummary]


def chosen(importance: Importance, pairs: Sequence[str]) -> Importance:
    """The rows of some pairs, which all are in it, in their order there."""
    rows = [row for row, pair in enumerate(importance.pairs) if pair in pairs]
    modules = {name: theta[rows] for name, theta in importance.modules.items()}
    return replace(importance, pairs=[importance.pairs[row] for row in rows], modules=modules)


def relative(importance: Importance) -> Importance:
    """Importance over its mean over a pair's neurons of the module, where that is not 0.

    Not in the paper. Taylor importance grows with the loss's gradient, so that between pairs of
    unlike losses it compares these rather than neurons.
    """
    modules = {
        name: theta / theta.mean(1, keepdim=True).where(theta.any(1, keepdim=True), 1.0)
        for name, theta in importance.modules.items()
    }
    return replace(importance, modules=modules)


def groups_of(pairs: Sequence[str], by: str, side: str) -> list[str]:
    """The group of each pair, to which neurons of a module are allocated.

    Args:
        pairs: such as `de-en`.
        by: one of `WAYS`.
        side: the module's, `source` or `target`.
    """
    way = side if by == "separate" else by
    if way == "pair":
        return list(pairs)
    return [pair.split("-")[way == "target"] for pair in pairs]


def general_neurons(theta: Tensor, share: float) -> Tensor:
    """Those that matter most over all pairs (equation 1), (W,); among equals the first.

    Args:
        theta: importance, (P, W).
        share: rho, from 0 to 1; so many of the neurons, to the nearest whole number.
    """
    order = theta.mean(0).argsort(descending=True, stable=True)
    general = torch.zeros(theta.shape[1], dtype=torch.bool)
    general[order[: round(share * len(order))]] = True
    return general


def important(theta: Tensor, threshold: float, groups: Sequence[str]) -> Tensor:
    """For which pairs' groups a neuron is important enough (equation 9), (P, W).

    A group's importance is the mean of its pairs', a choice of ours: the paper does not say.

    Args:
        theta: importance, (P, W).
        threshold: k, from 0 (for all) to 1 (for the best, or all that equal it).
        groups: of each pair.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    index = torch.tensor([places[name] for name in groups])
    pooled = torch.stack([theta[index == place].mean(0) for place in places.values()])  # (G, W)
    return (pooled >= threshold * pooled.amax(0))[index]


def allocate(
    importance: Importance, share: float, threshold: float, by: str
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Give every pair its neurons.

    Args:
        importance: of the neurons to the pairs.
        share: rho, as :func:`general_neurons`.
        threshold: k, as :func:`important`.
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
    """Count what the pairs were given.

    Args:
        masks: of the pairs.
        by: one of `WAYS`, as they were allocated.
        sides: of each module.
    """
    shared: list[Tensor] = []  # of each specific neuron by how many groups
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
