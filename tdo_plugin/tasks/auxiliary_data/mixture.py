"""The exact number of sentences of each data set in an epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from fairseq.data.multilingual.sampled_multi_dataset import default_virtual_size_func
from numpy.typing import NDArray

from tdo_plugin.data.auxiliary_folder import BACK_TRANSLATED, MONOLINGUAL

Counts = NDArray[np.int64]
Weights = Sequence[float]


@dataclass(frozen=True)
class Mixture:
    """The data sets of a training, by number.

    In a direction with synthetic pairs, true pairs have weight ``upsampling`` and synthetic ones
    weight 1, and directions are sampled by the total weight of their pairs. Monolingual sentences
    are added until they are ``share`` of all sentences.

    Attributes:
        sizes: sentences of each set.
        categories: `main` and fairseq's others, `back-translated`, `monolingual`.
        directions: such as `en-de`.
        upsampling: weight of true pairs in directions with synthetic pairs.
        share: of monolingual sentences, if there are any.
    """

    sizes: Sequence[int]
    categories: Sequence[str]
    directions: Sequence[str]
    upsampling: float = 1.0
    share: float = 0.5

    def counts(
        self,
        ratios: Callable[[dict[int, int]], Weights | None],
        of_languages: Callable[[list[int]], Weights] | None,
        virtual_size: int | None = None,
    ) -> Counts:
        """The number of sentences of each data set in an epoch.

        Args:
            ratios: fairseq's sampling ratios of directions, given sizes by number; None: all pairs
                once.
            of_languages: sampling ratios of languages, given their sizes; None: by size.
            virtual_size: total size of an epoch; None: the number of pairs that fairseq uses
                without monolingual text, plus that text.
        """
        counts = np.zeros(len(self.sizes), np.int64)
        alone = self._of(MONOLINGUAL.name)
        weights = self._weights()
        unions = {number: round(sum(parts.values())) for number, parts in weights.items()}
        sampling = ratios(unions)
        pairs, lone = self._totals(list(unions.values()), sampling, bool(alone), virtual_size)
        of_directions = (
            [sum(parts.values()) for parts in weights.values()] if sampling is None else sampling
        )
        for parts, total in zip(weights.values(), shared_out(pairs, of_directions), strict=True):
            counts[list(parts)] = shared_out(total, list(parts.values()))
        if alone:
            sizes = [self.sizes[number] for number in alone]
            counts[alone] = shared_out(lone, of_languages(sizes) if of_languages else sizes)
        return counts

    def _of(self, category: str) -> list[int]:
        return [number for number, name in enumerate(self.categories) if name == category]

    def _weights(self) -> dict[int, dict[int, float]]:
        """For each direction, the total weight of each of its sets, by number."""
        synthetic = {self.directions[number]: number for number in self._of(BACK_TRANSLATED.name)}
        further = {*self._of(MONOLINGUAL.name), *synthetic.values()}
        weights: dict[int, dict[int, float]] = {}
        for number, size in enumerate(self.sizes):
            twin = synthetic.get(self.directions[number])
            if number in further:
                continue
            if self.categories[number] == "main" and twin is not None:
                weights[number] = {number: self.upsampling * size, twin: float(self.sizes[twin])}
            else:
                weights[number] = {number: float(size)}
        return weights

    def _totals(
        self, unions: list[int], ratios: Weights | None, alone: bool, virtual_size: int | None
    ) -> tuple[int, int]:
        """The numbers of pairs and of monolingual sentences."""
        if virtual_size is not None:
            lone = round(virtual_size * self.share) if alone else 0
            return virtual_size - lone, lone
        if ratios is None:
            pairs = sum(unions)
        else:
            pairs = default_virtual_size_func([range(size) for size in unions], ratios)
        return pairs, max(1, round(pairs * self.share / (1 - self.share))) if alone else 0


def shared_out(total: int, weights: Weights) -> Counts:
    """A total divided in proportion to weights into whole numbers (largest remainders)."""
    quotas = total * np.asarray(weights, np.float64) / np.sum(weights)
    # integers up to rounding errors stay as they are
    counts = np.floor(quotas + 1e-6).astype(np.int64)
    counts[np.argsort(counts - quotas, kind="stable")[: total - counts.sum()]] += 1
    return counts
