"""Keyed virtual epochs over shards: exact positions, and no memory for each sentence."""

import itertools
import shutil
import tracemalloc
from collections import Counter

import numpy as np
import pytest
import torch
from fairseq.data.iterators import GroupedIterator
from fairseq.data.language_pair_dataset import LanguagePairDataset
from fairseq.data.prepend_token_dataset import PrependTokenDataset
from support.covering import mostly_full
from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, built, databin, train

from tdo_compat import binarised
from tdo_compat.binarised import HEADER, MAGIC, count_sentences
from tdo_compat.distributed import at_same_position
from tdo_plugin.tasks.loading.lengths import Lengths, SentencePairs, TaggedSentences
from tdo_plugin.tasks.loading.mapped import MappedSentences
from tdo_plugin.tasks.loading.passes import Passes, Place

FLAGS = (
    *("--task", "tdo_translation", *TASK, *TRAIN, *TDO, *TAG),
    *("--virtual-epoch-size", "40", "--virtual-epoch-draw", "keyed"),
)
LIMITS = {"max_positions": (30, 30), "ignore_invalid_inputs": True}


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Three folders; the second has fewer sentences, the third lacks a pair."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second", "third")]
    for folder in folders:
        shutil.copytree(databin(), folder, dirs_exist_ok=True)
    for path in folders[1].glob("train.*"):
        shutil.copy(databin() / path.name.replace("train", "valid"), path)
    for path in folders[2].glob("train.en-es.*"):
        path.unlink()
    return ":".join(map(str, folders))


def test_places_of_epochs():
    passes = Passes([100, 40, 81], 40)
    expected = [(0, 0), (0, 40), (0, 80), (1, 0), (2, 0), (2, 40), (2, 80), (3, 0), (3, 40)]
    assert [passes.at(epoch) for epoch in range(1, 10)] == [Place(*place) for place in expected]
    assert Passes([7], 40).at(5) == Place(4, 0)


class Stream:
    """A training's batches, as fairseq's trainer gets them from the task."""

    def __init__(self, *flags, data, state=None, workers=1, rank=0, loaders=0):
        self.task, _, _ = built(*FLAGS, *flags, data=data)
        self.options = {"num_shards": workers, "shard_id": rank, "num_workers": loaders}
        self._start((state or {"epoch": 1})["epoch"])
        if state:
            self.iterator.load_state_dict(state)

    def _start(self, epoch, load=True):
        if load:
            self.task.load_dataset("train", epoch=epoch, combine=True)
        self.iterator = self.task.get_batch_iterator(
            self.task.dataset("train"), max_tokens=60, **LIMITS, epoch=epoch, **self.options
        )

    def updates(self, epochs, frequency=2):
        """Batches of the updates until an epoch, each with the state after it."""
        while self.iterator.next_epoch_idx <= epochs:
            yield from self._epoch(frequency)
            sharded = self.task.has_sharded_data("train")
            self._start(self.iterator.next_epoch_idx, sharded)

    def _epoch(self, frequency):
        for batches in GroupedIterator(self.iterator.next_epoch_itr(), frequency):
            yield [shown(batch) for batch in batches if batch], self.iterator.state_dict()


def shown(batch):
    parts = *batch["net_input"].values(), batch["target"]
    return [part.tolist() for part in parts]


@pytest.mark.parametrize("method", mostly_full(["temperature", "concat"]))
def test_a_resumed_training_sees_the_same_batches(shards, method):
    flags = ("--sampling-method", method, "--sampling-temperature", "3")
    updates = list(Stream(*flags, data=shards).updates(9))
    for begin in range(len(updates)):
        resumed = Stream(*flags, data=shards, state=updates[begin][1])
        again = itertools.islice(resumed.updates(9), 5)
        expected = updates[begin + 1 :][:5]
        assert [batches for batches, _ in again] == [batches for batches, _ in expected]


def test_processes_that_load_data_change_nothing(shards):
    updates = list(Stream(data=shards).updates(4))
    resumed = list(Stream(data=shards, state=updates[2][1], loaders=2).updates(4))
    assert [batches for batches, _ in resumed] == [batches for batches, _ in updates[3:]]


def test_two_workers_continue_what_four_began(shards, monkeypatch):
    """The same batches in each update, since both see eight batches in one."""

    def streams(workers, frequency, state=None):
        ranks = [
            Stream(data=shards, workers=workers, rank=rank, state=state).updates(4, frequency)
            for rank in range(workers)
        ]
        for together in zip(*ranks, strict=True):
            batches, states = zip(*together, strict=True)
            yield Counter(map(str, itertools.chain.from_iterable(batches))), states[0]

    training = {"distributed_training": {"distributed_world_size": 4}}
    four = list(streams(4, 2))
    for begin in range(0, len(four) - 1, 3):
        position = four[begin][1]
        with monkeypatch.context() as workers:
            workers.setattr(torch.distributed, "is_initialized", lambda: True)
            workers.setattr(torch.distributed, "get_world_size", lambda: 2)
            at_same_position({"cfg": training, "extra_state": {"train_iterator": position}})
        two = streams(2, 4, position)
        assert [seen for seen, _ in two] == [seen for seen, _ in four[begin + 1 :]]


def test_a_pass_has_every_sentence_of_its_shard_once(shards):
    stream = Stream("--sampling-method", "concat", data=shards)
    data = stream.task.dataset("train")
    sizes = data.passes.sizes
    # en-es has two shards, so the shards of all pairs meet again after six passes
    assert sizes == [144, 36, 144, 108, 72, 108]
    counts: Counter = Counter()
    for number in range(1, sum(-(-size // 40) for size in sizes) + 1):
        if number > 1:
            stream.task.load_dataset("train", epoch=number)
        data = stream.task.dataset("train")
        data.set_epoch(number)
        for index in range(len(data)):
            counts[data.passes.at(number).number, data._get_dataset_and_index(index)] += 1
    assert set(counts.values()) == {1}
    finished = Counter(number for number, _ in counts)
    assert [finished[number] for number in range(6)] == sizes


@pytest.mark.parametrize("shards", [1, 2])
def test_further_training_files_are_in_the_passes(tmp_path, shards):
    shutil.copytree(databin(), tmp_path, dirs_exist_ok=True)
    for path in databin().glob("valid.*"):
        shutil.copy(path, tmp_path / path.name.replace("valid", "train1"))
    flags = ("--sampling-method", "concat", "--upsample-primary", "2")
    folders = ":".join(map(str, (tmp_path, databin())[:shards]))
    data = Stream(*flags, data=folders).task.dataset("train")
    assert data.passes.sizes[0] == sum(map(len, data.datasets)) == 2 * 144 + 36
    assert len(data.passes.sizes) == shards


@pytest.mark.full
def test_losses_of_a_resumed_training(shards, tmp_path):
    flags = (*FLAGS, *CROSS_ENTROPY, "--update-freq", "2", "--max-tokens", "60")
    whole = train(tmp_path / "whole", *flags, "--max-update", "12", data=shards)
    part = train(tmp_path / "part", *flags, "--max-update", "7", data=shards)
    rest = train(tmp_path / "part", *flags, "--max-update", "12", data=shards)
    # the checkpoint at the end of a training is after its last update
    assert [*part, *rest] == whole


def test_lengths_are_fairseqs():
    task, _, _ = built(*FLAGS)
    source, target = (
        MappedSentences(str(databin() / f"train.en-de.{language}")) for language in ("en", "de")
    )
    dictionary = task.source_dictionary
    ours = SentencePairs(TaggedSentences(source, 9), dictionary, target, dictionary)
    tagged = PrependTokenDataset(source, 9)
    theirs = LanguagePairDataset(tagged, tagged.sizes, dictionary, target, target.sizes, dictionary)
    rows = np.array([3, 0, 3, 7])
    assert np.array_equal(ours.sizes[rows], theirs.sizes[rows])
    assert ours.sizes[rows].dtype == theirs.sizes.dtype
    assert np.array_equal(ours.sizes, theirs.sizes)
    assert len(ours.sizes) == len(theirs.sizes)
    assert ours.size(5) == theirs.size(5)
    assert ours.num_tokens(5) == theirs.num_tokens(5)
    assert np.array_equal(ours.num_tokens_vec(rows), theirs.num_tokens_vec(rows))
    for order in (ours, theirs):
        np.random.seed(1)
        order.order = order.ordered_indices()
    assert np.array_equal(ours.order, theirs.order)
    assert torch.equal(ours[4]["source"], theirs[4]["source"])
    untagged = TaggedSentences(source, None)
    assert np.array_equal(untagged.sizes, source.sizes)
    assert np.array_equal(Lengths(np.arange(4), added=2), [2, 3, 4, 5])


def large(folder, sentences):
    """A data folder of one pair whose sentences are end symbols only."""
    for name in ("dict.en.txt", "dict.de.txt"):
        shutil.copy(databin() / name, folder)
    for language in ("en", "de"):
        prefix = folder / f"train.en-de.{language}"
        np.full(sentences, 2, np.uint16).tofile(f"{prefix}.bin")
        with open(f"{prefix}.idx", "wb") as stream:
            stream.write(HEADER.pack(*MAGIC, 8, sentences))
            stream.write(np.ones(sentences, np.int32).tobytes())
            stream.write((np.arange(sentences) * 2).tobytes())
    assert count_sentences(str(folder / "train.en-de.en")) == sentences
    return folder


def test_memory_does_not_grow_with_the_data(tmp_path, monkeypatch):
    """Less than a byte for each sentence pair; fairseq's copies take 20 in each direction."""
    monkeypatch.setattr(binarised, "CHEAP", 0)  # as for files that are too large to read first
    peaks = []
    for sentences in (500_000, 3_000_000):
        (tmp_path / str(sentences)).mkdir()
        folder = large(tmp_path / str(sentences), sentences)
        task, _, _ = built(*FLAGS, "--lang-pairs", "en-de,de-en", data=folder)
        tracemalloc.start()
        task.load_dataset("train", epoch=1)
        iterator = task.get_batch_iterator(task.dataset("train"), max_tokens=60, **LIMITS)
        assert next(iterator.next_epoch_itr())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 2_500_000
