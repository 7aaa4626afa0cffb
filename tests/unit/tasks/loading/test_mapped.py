"""Sets that are opened without being read: fairseq's sentences, one object for each file."""

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from fairseq.data.indexed_dataset import MMapIndexedDataset, MMapIndexedDatasetBuilder
from support.data import TAG, TASK, TDO, TRAIN, built

from tdo_plugin.tasks.loading.mapped import MappedSentences

FLAGS = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO, *TAG)
COUNTERS = Path("/proc/self/io")


def write(folder, dtype=np.uint16, lengths=(3, 1, 7, 2)):
    path = str(folder / "train.de-fr.de")
    builder = MMapIndexedDatasetBuilder(path + ".bin", dtype)
    for length in lengths:
        builder.add_item(torch.randint(4, 100, (length,)))
    builder.finalize(path + ".idx")
    return path


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_sentences_are_fairseqs(tmp_path, dtype):
    path = write(tmp_path, dtype)
    mapped, stock = MappedSentences(path), MMapIndexedDataset(path)
    for dataset in (mapped, pickle.loads(pickle.dumps(mapped))):
        assert np.array_equal(dataset.sizes, stock.sizes)
        assert len(dataset) == len(stock)
        for number in (0, 1, 2, 3, -1):
            assert dataset[number].dtype == torch.int64
            assert torch.equal(dataset[number], stock[number])
    with pytest.raises(IndexError):
        mapped[4]


@pytest.mark.skipif(not COUNTERS.exists(), reason="the system does not count what is read")
def test_nothing_is_read(tmp_path):
    path = write(tmp_path, lengths=[60_000] * 20)

    def read():
        return int(COUNTERS.read_text().split()[1])

    before = read()
    dataset = MappedSentences(path)
    assert read() - before < 100_000
    assert len(dataset[19]) == 60_000
    MMapIndexedDataset(path)
    assert read() - before > 2_000_000


def sides(dataset):
    """Below the tags: source and target of a direction."""
    pair = dataset.dataset
    return pair.src.dataset, pair.tgt


def test_both_directions_have_one_object():
    task, _, _ = built(*FLAGS)
    task.load_dataset("train")
    forward, backward = (sides(dataset) for dataset in task.dataset("train").datasets[:2])
    assert forward[0] is backward[1]
    assert forward[1] is backward[0]
    assert forward[0] is not forward[1]
    opened = task.data_manager._opened
    assert len(opened) == 6
    del task.datasets["train"], forward, backward
    gc.collect()
    assert not opened


def test_equal_dictionaries_are_one_object(tmp_path):
    task, _, _ = built(*FLAGS)
    assert len({id(dictionary) for dictionary in task.dicts.values()}) == 1
    fairseqs, _, _ = built(*FLAGS, "--data-loading", "fairseq")
    assert len({id(dictionary) for dictionary in fairseqs.dicts.values()}) == 4
    assert list(task.dicts) == list(fairseqs.dicts)
    assert task.source_dictionary.symbols == fairseqs.source_dictionary.symbols


def test_other_kinds_of_files_are_fairseqs(tmp_path):
    """Raw text, and whatever else `--dataset-impl` names."""
    from fairseq.data.indexed_dataset import IndexedRawTextDataset

    task, _, _ = built(*FLAGS)
    (tmp_path / "train").write_text("eins zwei\n")
    dataset = task.data_manager.load_data(str(tmp_path / "train"), task.source_dictionary, "raw")
    assert isinstance(dataset, IndexedRawTextDataset)


def test_an_older_checkpoints_options_do_not_name_the_loading():
    task, _, _ = built(*FLAGS)
    del task.args.data_loading, task.args.virtual_epoch_draw
    task.args.virtual_epoch_size = 40
    again = type(task).setup_task(task.args)
    again.load_dataset("train")
    assert len(again.dataset("train")) == 40
