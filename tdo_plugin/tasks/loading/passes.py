"""Which part of which shard a virtual epoch reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """The place of a virtual epoch.

    Attributes:
        number: of its pass, from 0; pass p reads shard p mod S of S.
        begin: its first sentence in the pass.
    """

    number: int
    begin: int


@dataclass(frozen=True)
class Passes:
    """The passes over the data, one after another, each over one shard.

    A place is computed from the number of the virtual epoch, so a resumed training needs nothing
    else to continue.

    Attributes:
        sizes: sentences of a pass over each shard.
        epoch_size: maximum number of sentences of a virtual epoch.
    """

    sizes: Sequence[int]
    epoch_size: int

    def at(self, epoch: int) -> Place:
        """The place of a virtual epoch, counted from 1."""
        epochs = [-(-size // self.epoch_size) for size in self.sizes]
        rotation, rest = divmod(epoch - 1, sum(epochs))
        number = rotation * len(epochs)
        for count in epochs:
            if rest < count:
                break
            rest -= count
            number += 1
        return Place(number, rest * self.epoch_size)
