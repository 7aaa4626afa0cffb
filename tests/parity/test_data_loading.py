"""`--data-loading lean` against fairseq's own classes: the same batches in the same order."""

import shutil

import numpy as np
import pytest
import torch
from support.covering import one_in
from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, built, databin, train

FLAGS = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO)
STRATEGY_3 = ("--decoder-langtok", "--lang-tok-replacing-bos-eos")
VIRTUAL = ("--virtual-epoch-size", "40")
CASES = {
    "temperature": TAG,
    "much upsampling": (*TAG, "--sampling-temperature", "50", "--virtual-data-size", "600"),
    "uniform": (*TAG, "--sampling-method", "uniform"),
    "concat": (*TAG, "--sampling-method", "concat"),
    "RoundRobin": (*TAG, "--sampling-method", "RoundRobin"),
    "each direction its collater": STRATEGY_3,
    "tags on both sides": (*TAG, "--decoder-langtok", "--enable-lang-ids"),
    "short sources": (*TAG, "--truncate-source", "--max-source-positions", "5"),
    "virtual epochs": (*TAG, *VIRTUAL),
    "virtual epochs of concat": (*TAG, *VIRTUAL, "--sampling-method", "concat"),
    "virtual epochs of virtual data": (*TAG, *VIRTUAL, "--virtual-data-size", "70"),
    "virtual epochs, each direction its collater": (*STRATEGY_3, *VIRTUAL),
    "one virtual epoch": (*TAG, "--virtual-epoch-size", "100000"),
}


def epochs(flags, workers=1, rank=0, begin=1, data=None, **options):
    """The batches of a rank in five epochs from `begin`, shuffled as a training shuffles them."""
    task, _, _ = built(*FLAGS, *flags, data=data)
    for epoch in range(begin, begin + 5):
        if epoch == begin or task.has_sharded_data("train"):
            task.load_dataset("train", epoch=epoch)
        iterator = task.get_batch_iterator(
            task.dataset("train"),
            **{"max_tokens": 30, "max_positions": (7, 7), "ignore_invalid_inputs": True},
            **{"num_shards": workers, "shard_id": rank, "epoch": epoch, "seed": 3, **options},
        )
        yield [batch for batch in iterator.next_epoch_itr() if batch]


def flattened(batch):
    for key, value in batch.items():
        yield from flattened(value) if isinstance(value, dict) else [(key, value)]


def equal(first, second):
    first, second = dict(flattened(first)), dict(flattened(second))
    assert first.keys() == second.keys()
    return all(
        torch.equal(value, second[key]) if torch.is_tensor(value) else value == second[key]
        for key, value in first.items()
    )


def compare(flags, **options):
    ours = list(epochs((*flags, "--data-loading", "lean"), **options))
    theirs = list(epochs((*flags, "--data-loading", "fairseq"), **options))
    assert [len(epoch) for epoch in ours] == [len(epoch) for epoch in theirs]
    assert all(len(epoch) > 1 for epoch in ours)
    for our_epoch, their_epoch in zip(ours, theirs, strict=True):
        assert all(map(equal, our_epoch, their_epoch))
    return ours


@pytest.mark.parametrize("name", one_in(3, CASES, 2))
def test_batches_of_five_epochs(name):
    compare(CASES[name])


@pytest.mark.parametrize("rank", [0, 1])
def test_batches_of_two_workers(rank):
    compare(CASES["virtual epochs"], workers=2, rank=rank)


def test_batches_of_a_resumed_training():
    compare(CASES["virtual epochs"], begin=3)


def test_batches_from_a_process_of_the_data_loader():
    compare(CASES["virtual epochs"], num_workers=1)


@pytest.mark.parametrize("name", ["temperature", "virtual epochs of virtual data"])
def test_shards(name, tmp_path):
    shards = [tmp_path / "first", tmp_path / "second"]
    for shard in shards:
        shutil.copytree(databin(), shard)
    for path in shards[1].glob("train.en-de.*"):  # other sentences for the second
        shutil.copy(databin() / path.name.replace("train", "valid"), path)
    epochs_of_both = compare(CASES[name], data=":".join(map(str, shards)))
    assert any(not equal(*pair) for pair in zip(*epochs_of_both[:2], strict=False))


def test_losses_of_a_training(tmp_path):
    flags = (*FLAGS, *TAG, *CROSS_ENTROPY, *VIRTUAL, "--max-epoch", "3")
    losses = [
        train(tmp_path / loading, *flags, "--data-loading", loading)
        for loading in ("lean", "fairseq")
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) > 6


@pytest.mark.parametrize("split", ["valid", "test"])
def test_other_splits(split):
    datasets = []
    for loading in ("lean", "fairseq"):
        task, _, _ = built(*FLAGS, *TAG, "--data-loading", loading)
        task.load_dataset(split)
        datasets.append(task.dataset(split))
    assert len(datasets[0]) == len(datasets[1])
    for number in range(len(datasets[0])):
        lean_item, fairseq_item = datasets[0][number], datasets[1][number]
        assert torch.equal(lean_item["source"], fairseq_item["source"])
        assert torch.equal(lean_item["target"], fairseq_item["target"])


@pytest.mark.parametrize("longest", [50, 300, 1 << 17])
def test_order_by_length(longest):
    """Numbers of 8, 16 and more bits are sorted in different ways, to the same order."""
    from fairseq.data.multilingual import sampled_multi_dataset

    from tdo_plugin.tasks.loading import sampled

    lengths = np.random.default_rng(1).integers(1, 50, (3000, 2)) * longest // 50
    orders = []
    for kind in (sampled.SampledMultiDataset, sampled_multi_dataset.SampledMultiDataset):
        dataset = kind.__new__(kind)
        dataset._sizes, dataset.shuffle, dataset.virtual_size = lengths, True, len(lengths)
        np.random.seed(1)
        orders.append(dataset.ordered_indices())
        assert np.array_equal(dataset.num_tokens_vec(orders[-1]), lengths[orders[-1]].max(axis=1))
    assert np.array_equal(*orders)
