"""The results of probes, before output.

Shapes: N test tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor

from tdo_plugin.analysis.probing.accuracy import by_type, guess_by_type, guess_most_frequent
from tdo_plugin.analysis.probing.position_probe import train_probe
from tdo_plugin.analysis.probing.states import TokenStates
from tdo_plugin.analysis.probing.token_classes import classes_of_types


@dataclass(frozen=True)
class LayerOutcome:
    """The results of the probes of a layer.

    Attributes:
        accuracies: of each probe on the test tokens, from 0 to 1.
        right: (N,), share of the probes that predicted the token's position.
    """

    accuracies: tuple[float, ...]
    right: Tensor

    @property
    def accuracy(self) -> float:
        """The mean over probes."""
        return fmean(self.accuracies)


@dataclass(frozen=True)
class CheckpointOutcome:
    """The results for a checkpoint.

    Attributes:
        path: of the file.
        updates: number of updates of its training.
        layer: the layer that represents the model.
        layers: outcomes by layer.
    """

    path: Path
    updates: int
    layer: int
    layers: dict[int, LayerOutcome]

    @property
    def chosen(self) -> LayerOutcome:
        """The outcome of the layer that represents the model."""
        return self.layers[self.layer]


def probe_layers(
    fit: TokenStates, test: TokenStates, seeds: Sequence[int], say: Callable[[str], None]
) -> dict[int, LayerOutcome]:
    """Train probes of each layer on some tokens and test them on others.

    Args:
        fit: training tokens.
        test: test tokens.
        seeds: of the probes of a layer.
        say: called with a line for each layer.
    """
    outcomes = {}
    for layer, states in fit.states.items():
        each = [
            train_probe(states, fit.positions, fit.lines, seed)
            .right(test.states[layer], test.positions)
            .double()
            for seed in seeds
        ]
        accuracies = tuple(float(right.mean()) for right in each)
        outcomes[layer] = LayerOutcome(accuracies, torch.stack(each).mean(0))
        say(f"layer {layer}: {100 * outcomes[layer].accuracy:.1f} % of the positions predicted")
    return outcomes


class TestTokens:
    """The test tokens, the same for all models, and baselines without states.

    Args:
        fit: training tokens.
        test: test tokens.
        symbols: the vocabulary, by id.
        types: the symbols that are pieces of words, (V,).
        directions: names by number, such as `de-fr`.
    """

    __test__ = False  # not a test, despite its name

    def __init__(
        self,
        fit: TokenStates,
        test: TokenStates,
        symbols: Sequence[str],
        types: Tensor,
        directions: Sequence[str],
    ) -> None:
        self.tokens, self.positions, self.lines = test.tokens, test.positions, test.lines
        self.symbols, self.types = symbols, types
        self.directions = tuple(directions)
        self.of_direction = test.directions
        self.most_frequent = guess_most_frequent(fit.positions, test.positions)
        self.by_word = guess_by_type(fit.tokens, fit.positions, test.tokens, test.positions)
        self.trained_positions = int(fit.positions.max()) + 1
        self.beyond = int((test.positions >= self.trained_positions).sum())

    @cached_property
    def type_classes(self) -> dict[str, Mapping[str, Tensor]]:
        """Membership (V,) by group and class; symbols that are not types have no class."""
        return {
            group: {name: mask & self.types for name, mask in members.items()}
            for group, members in classes_of_types(self.symbols).items()
        }

    @cached_property
    def groups(self) -> dict[str, dict[str, Tensor]]:
        """Membership (N,) of classes that have tokens, by group: kind, language, script.

        A token's language is that of its sentence; scripts are omitted if there is only one.
        """
        sources = [direction.split("-")[0] for direction in self.directions]
        languages = {
            name: torch.tensor([name == source for source in sources])[self.of_direction]
            for name in dict.fromkeys(sources)
        }
        memberships = {
            "kind": self._of_tokens("kind"),
            "language": languages,
            "script": self._of_tokens("script"),
        }
        nonempty = {
            group: {name: mask for name, mask in members.items() if mask.any()}
            for group, members in memberships.items()
        }
        return {
            group: members
            for group, members in nonempty.items()
            if members and (group, len(members)) != ("script", 1)
        }

    def _of_tokens(self, group: str) -> dict[str, Tensor]:
        return {name: mask[self.tokens] for name, mask in self.type_classes[group].items()}

    @property
    def tested_types(self) -> Tensor:
        """Types that occur in the test tokens, (V,)."""
        seen = torch.bincount(self.tokens, minlength=len(self.symbols)) > 0
        return seen & self.types

    def accuracy_by_type(self, right: Tensor) -> Tensor:
        """(V,); NaN for types that do not occur in the test tokens."""
        return by_type(self.tokens, right, len(self.symbols))

    def same_as(self, other: TokenStates) -> bool:
        """Whether another model has read the same tokens in the same order."""
        return torch.equal(self.tokens, other.tokens) and torch.equal(self.lines, other.lines)
