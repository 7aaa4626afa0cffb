"""Keyed draws: of the same kind as fairseq's, without anything of the size of the data."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from fairseq.data import FairseqDataset
from fairseq.data.multilingual import sampled_multi_epoch_dataset
from support.data import TAG, TASK, TDO, TRAIN, built, databin, iterate

from tdo_plugin.tasks.loading.keyed import SampledMultiEpochDataset

FLAGS = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO, *TAG)
KEYED = ("--virtual-epoch-draw", "keyed")


class Sized(FairseqDataset):
    """So many sentences, each of a length of its own."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    @property
    def sizes(self):
        numbers = np.arange(self.count, dtype=np.int32)
        return np.stack([numbers, numbers + self.count], 1)


def drawn(counts, ratios, kind=SampledMultiEpochDataset, epoch=1, virtual_epoch_size=50):
    datasets = [Sized(count) for count in counts]
    return kind(datasets, ratios, epoch=epoch, virtual_epoch_size=virtual_epoch_size)


def sentences(dataset, epochs):
    """(data set, row) of all sentences of some virtual epochs."""
    for epoch in epochs:
        dataset.set_epoch(epoch)
        yield from (dataset._get_dataset_and_index(index) for index in range(len(dataset)))


@pytest.mark.parametrize("ratios", [[0.5, 0.3, 0.2], None])
def test_a_pass_repeats_nothing_and_is_fairseqs_in_number(ratios):
    counts = [400, 250, 100]
    dataset = drawn(counts, ratios)
    reference = drawn(counts, ratios, sampled_multi_epoch_dataset.SampledMultiEpochDataset)
    assert dataset.num_virtual_epochs == reference.num_virtual_epochs
    whole = range(1, dataset.num_virtual_epochs + 1)
    ours, theirs = list(sentences(dataset, whole)), list(sentences(reference, whole))
    assert len(ours) == len(theirs) == dataset.virtual_size
    frequencies = [Counter(number for number, _ in draws) for draws in (ours, theirs)]
    assert all(abs(frequencies[0][number] - frequencies[1][number]) <= 3 for number in range(3))
    few = {number for number in range(3) if frequencies[0][number] <= counts[number]}
    assert few
    rows = Counter(sentence for sentence in ours if sentence[0] in few)
    assert max(rows.values()) == 1
    assert all(0 <= row < counts[number] for number, row in ours)


def test_directions_are_mixed_within_a_virtual_epoch():
    dataset = drawn([4000, 4000], None, virtual_epoch_size=1000)
    numbers = [number for number, _ in sentences(dataset, [3])]
    assert 400 < sum(numbers) < 600


def test_what_is_drawn_more_often_is_drawn_from_all():
    """As fairseq's: about a share 1 / e of the sentences is not drawn, where the mean is 1."""
    dataset = drawn([100_000, 20_000], [0.83, 0.17], virtual_epoch_size=1_000_000)
    rows = Counter(row for number, row in sentences(dataset, [1]) if number == 1)
    mean = sum(rows.values()) / 20_000
    assert 1 < mean < 1.1
    assert abs((20_000 - len(rows)) / 20_000 - np.exp(-mean)) < 0.02


def test_passes_differ_and_a_resumed_one_goes_on():
    counts, ratios = [400, 250], [0.6, 0.4]
    dataset = drawn(counts, ratios)
    length = dataset.num_virtual_epochs
    passes = {epoch: list(sentences(dataset, [epoch])) for epoch in range(1, 2 * length + 1)}
    assert passes[1] != passes[length + 1]
    resumed = drawn(counts, ratios, epoch=length + 3)
    assert list(sentences(resumed, [length + 3])) == passes[length + 3]
    assert list(sentences(resumed, [length + 4])) == passes[length + 4]
    assert dataset.load_next_shard  # after the last virtual epoch of a pass
    assert dataset.shard_epoch == 3


def test_lengths_are_those_of_the_sentences():
    dataset = drawn([400, 250], [0.6, 0.4])
    for index, (number, row) in enumerate(sentences(dataset, [4])):
        count = len(dataset.datasets[number])
        assert tuple(dataset.sizes[index]) == (row, row + count)


def test_memory_does_not_grow_with_the_data():
    datasets = [Sized(20_000_000), Sized(30_000_000)]
    tracemalloc.start()
    dataset = SampledMultiEpochDataset(datasets, [0.5, 0.5], epoch=2, virtual_epoch_size=1000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(dataset) == 1000
    assert most < 2_000_000


def test_a_training_draws_with_keys():
    task, _, _ = built(*FLAGS, *KEYED, "--virtual-epoch-size", "40")
    seen = [number for batch in iterate(task, "train") for number in batch["id"].tolist()]
    assert len(seen) == 40
    assert isinstance(task.dataset("train"), SampledMultiEpochDataset)


def test_keys_that_nothing_would_use(refused):
    refused.rows(
        """
        fairseq-train {data} {flags} --virtual-epoch-draw keyed         :: --virtual-epoch-draw
            --virtual-epoch-size 40 --data-loading fairseq              :: --virtual-epoch-draw
        """,
        data=databin(),
        flags=FLAGS,
    )
