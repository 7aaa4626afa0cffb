"""fairseq's training sets: the same sentences in the same order, in less time and memory.

The classes have the same names as fairseq's, because its random seeds depend on the class name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fairseq.data.multilingual import sampled_multi_dataset, sampled_multi_epoch_dataset
from numpy.typing import NDArray

Numbers = NDArray[Any]


def are_counts(ratios: Any) -> bool:
    """Whether the values used as sampling ratios are counts of sentences of each data set.

    With ratios, fairseq leaves a sentence or two per epoch to rounding and chance; a data set that
    gets one more than it has is then sampled with replacement.
    """
    return isinstance(ratios, np.ndarray) and ratios.dtype.kind == "i"


class SampledMultiDataset(sampled_multi_dataset.SampledMultiDataset):
    """All directions, sampled anew for every epoch."""

    def get_virtual_indices(
        self, rng: np.random.RandomState, datasets: list[Any], ratios: Any, size: int
    ) -> tuple[Numbers, Numbers, Numbers]:
        """As fairseq's, without its Python list of all numbers when nothing is sampled.

        If a count exceeds the data set's size, whole copies are used and only the rest is sampled.
        """
        if are_counts(ratios):
            drawn = [
                whole_copies(rng, *size_and_count)
                for size_and_count in zip(map(len, datasets), ratios, strict=True)
            ]
            return np.concatenate(drawn), np.cumsum(ratios), ratios
        if ratios is not None:
            by_ratios: tuple[Numbers, Numbers, Numbers] = super().get_virtual_indices(
                rng, datasets, ratios, size
            )
            return by_ratios
        sizes = np.array([len(dataset) for dataset in datasets])
        return np.concatenate([np.arange(size) for size in sizes]), np.cumsum(sizes), sizes

    def ordered_indices(self) -> Numbers:
        """Sentences by source length, then target length, then at random."""
        indices = np.random.permutation(len(self)) if self.shuffle else np.arange(len(self))
        for lengths in np.atleast_2d(self.sizes.T)[::-1]:
            indices = indices[stable_order(lengths[indices])]
        return indices

    def num_tokens_vec(self, indices: Numbers) -> Numbers:
        """The length of the longer side of each sentence."""
        longer: Numbers = np.atleast_2d(self.sizes.T).max(axis=0)[indices]
        return longer


class SampledMultiEpochDataset(
    SampledMultiDataset, sampled_multi_epoch_dataset.SampledMultiEpochDataset
):
    """All directions, sampled for a pass that is divided into virtual epochs.

    fairseq computes the lengths of the whole pass again for every virtual epoch.
    """

    _epoch_sizes: Numbers | None  # fairseq's, which resets it in each epoch

    def _next_virtual_epoch(self, epoch: int) -> None:
        super()._next_virtual_epoch(epoch)
        self._numbers, self._rows = self.slice_of_pass()

    def slice_of_pass(self) -> tuple[Numbers, Numbers]:
        """The virtual epoch: data set and row of each sentence, (sentences,) each."""
        begin = self._current_epoch_start_index
        places = self._random_global_indices[begin : begin + len(self)]
        return self.dataset_of(places), self._cur_indices[places]

    def dataset_of(self, places: Numbers) -> Numbers:
        """The data sets of positions in the pass."""
        return np.searchsorted(self.cumulated_sizes, places, side="right")

    def _get_dataset_and_index(self, index: int) -> tuple[int, int]:
        return int(self._numbers[index]), self._rows[index]

    @property
    def sizes(self) -> Numbers:
        """Source and target length of each sentence of the virtual epoch, (sentences, 2)."""
        if self._epoch_sizes is None:
            order = stable_order(self._numbers)
            ends = np.searchsorted(self._numbers[order], np.arange(1, len(self.datasets)))
            parts = zip(self.datasets, np.split(self._rows[order], ends), strict=True)
            grouped_sizes = np.concatenate([dataset.sizes[rows] for dataset, rows in parts])
            sizes = np.empty_like(grouped_sizes)
            sizes[order] = grouped_sizes
            self._epoch_sizes = sizes
        return self._epoch_sizes


def whole_copies(rng: np.random.RandomState, size: int, count: int) -> Numbers:
    """``count`` rows of a data set: as many whole copies as possible, the rest drawn."""
    copies, rest = divmod(int(count), size)
    drawn = rng.choice(size, rest, replace=False)
    return np.concatenate([np.tile(np.arange(size), copies), drawn])


def stable_order(numbers: Numbers) -> Numbers:
    """The indices that sort numbers from 0 up; numpy takes linear time for 16-bit numbers."""
    least = np.min_scalar_type(numbers.max(initial=0))
    return np.argsort(numbers.astype(least), kind="stable")
