"""Numbers of specific neurons of pairs, by layer and module (Xie et al., 2021, section 5.2).

Shapes: P language pairs, W neurons of a module.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from torch import Tensor

from tdo_plugin.neuron_files import Masks, place_of


@dataclass(frozen=True)
class Specific:
    """The specific neurons of a layer or module: those that are not general.

    Attributes:
        neurons: their number.
        of_pairs: the number that each pair has.
    """

    neurons: int
    of_pairs: tuple[int, ...]

    @property
    def scores(self) -> tuple[float, ...]:
        """Each pair's share of the specific neurons; NaN if there are none.

        For a layer this is LScore (equation 10).
        """
        return tuple(
            count / self.neurons if self.neurons else float("nan") for count in self.of_pairs
        )

    @property
    def mean(self) -> float:
        """The mean share over pairs. For a module this is MScore (equation 11)."""
        return fmean(self.scores)


def specific_neurons(masks: Masks) -> dict[str, Tensor]:
    """For each module the specific neurons of each pair, (P, W)."""
    return {name: mask & ~masks.general[name] for name, mask in masks.modules.items()}


def by_module(masks: Masks) -> dict[str, Specific]:
    """Specific neurons of each module."""
    return {
        name: Specific(int((~masks.general[name]).sum()), tuple(neurons.sum(1).tolist()))
        for name, neurons in specific_neurons(masks).items()
    }


def by_layer(masks: Masks) -> dict[tuple[str, int], Specific]:
    """Specific neurons of each layer, by stack and number."""
    layers: dict[tuple[str, int], list[Specific]] = {}
    for name, module in by_module(masks).items():
        place = place_of(name)
        layers.setdefault((place.stack, place.layer), []).append(module)
    return {
        layer: Specific(
            sum(module.neurons for module in modules),
            tuple(map(sum, zip(*(module.of_pairs for module in modules), strict=True))),
        )
        for layer, modules in layers.items()
    }
