"""Virtual epochs whose sentences are computed rather than looked up in a stored permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdo_plugin.tasks.loading import sampled
from tdo_plugin.tasks.loading.passes import Passes
from tdo_plugin.tasks.loading.permutations import ROUNDS, mix, permute
from tdo_plugin.tasks.loading.sampled import Numbers, are_counts


class SampledMultiEpochDataset(sampled.SampledMultiEpochDataset):
    """All directions, sampled as in fairseq, but by keyed permutations.

    A pass has as many sentences of each direction as fairseq's: without repetition if the
    direction has enough, otherwise drawn with replacement. Virtual epochs are slices of the pass
    in random order. A sentence's position is a function of the seed and the number of the pass, so
    nothing is stored, and a resumed training continues in the same pass. Of several shards, each
    pass reads one.

    Args:
        passes: over all shards; by default over these data sets alone.
        options: as in fairseq.
    """

    load_next_shard: bool | None
    shard_epoch: int

    def __init__(self, *datasets: Any, passes: Passes | None = None, **options: Any) -> None:
        self._passes = passes
        super().__init__(*datasets, **options)

    @property
    def passes(self) -> Passes:
        """The passes over all shards."""
        return self._passes or Passes([self.virtual_size], self.virtual_epoch_size)

    def get_virtual_indices(
        self, rng: Any, datasets: list[Any], ratios: Any, size: int
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Counts of each direction; indices are computed later."""
        counts = np.array([len(dataset) for dataset in datasets])
        if are_counts(ratios):
            counts = ratios
        elif ratios is not None:
            shares = ratios / ratios.sum()
            counts = (size * shares).astype(np.int64)
            counts += np.random.default_rng(self._seeds).multinomial(size - counts.sum(), shares)
        return np.empty(0, np.int64), np.cumsum(counts), counts

    def _get_epoch_start_index(self, epoch: int) -> int:
        return self.passes.at(epoch).begin

    def _next_global_indices(self, epoch: int) -> None:
        """Stores no permutation."""
        self._random_global_indices = ()  # for fairseq None means that no pass has started

    def _next_virtual_epoch(self, epoch: int) -> None:
        super()._next_virtual_epoch(epoch)
        # fairseq loads the data again if the next epoch reads another shard
        following = self.passes.at(epoch + 1).number
        self.load_next_shard = following != self.passes.at(epoch).number
        self.shard_epoch = following + 1

    @property
    def _seeds(self) -> list[int]:
        return [self.seed, self.passes.at(self._cur_epoch).number]

    def slice_of_pass(self) -> tuple[Numbers, Numbers]:
        """As fairseq's sampling: data sets and rows, (sentences,) each."""
        words: Any = np.random.SeedSequence(self._seeds).generate_state(
            ROUNDS * (1 + len(self.datasets)), np.uint64
        )
        keys = words.reshape(ROUNDS, -1)
        begin = self._current_epoch_start_index
        places = np.arange(begin, begin + len(self), dtype=np.uint64)
        places = permute(places, np.uint64(self.virtual_size), keys[:, -1:])
        numbers = self.dataset_of(places.astype(np.int64))
        counts = self.virtual_size_per_dataset.astype(np.uint64)
        within = places - (self.cumulated_sizes.astype(np.uint64) - counts)[numbers]
        sizes = np.array([len(dataset) for dataset in self.datasets], np.uint64)[numbers]
        if are_counts(self.sample_ratios):  # whole copies, and a part of one more
            rows = permute(within % sizes, sizes, keys[:, numbers])
            return numbers, rows.astype(np.int64)
        once = counts[numbers] <= sizes
        rows = mix(within ^ mix(keys[0, numbers])) % sizes
        rows[once] = permute(within[once], sizes[once], keys[:, numbers[once]])
        return numbers, rows.astype(np.int64)
