"""Every row of every batch tells its own languages: held against the row's words and tag."""

import shutil

import pytest
import torch
from support.data import (
    BOTH_WAYS,
    CROSS_ENTROPY,
    LANGUAGES,
    NUMBERS,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    databin,
    generation,
    iterate,
    train,
)

TASK_FLAGS = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO)
STRATEGY_3 = ("--decoder-langtok", "--lang-tok-replacing-bos-eos")


def directions(task, batch):
    """The direction of each row, read from its words and its tag alone."""
    dictionary, net_input = task.source_dictionary, batch["net_input"]
    rows = []
    for tokens in torch.cat([net_input["src_tokens"], net_input["prev_output_tokens"]], 1):
        words = [dictionary[int(token)] for token in tokens]
        (tag,) = {word for word in words if word.startswith("__")}
        source = [word for word in words[: net_input["src_tokens"].size(1)] if word.isalpha()]
        possible = [
            language for language, numbers in NUMBERS.items() if {*source} <= {*numbers.split()}
        ]
        rows.append((possible, tag.strip("_")))
    return rows


def ids(batch, side):
    column = batch["net_input"][f"{side}_lang_id"]
    assert column.shape == (len(batch["net_input"]["src_tokens"]), 1)
    return [LANGUAGES[int(index) - 1] for index in column[:, 0]]


def checked(task, batch):
    """The directions of a batch, whose ids must be those of its words and tags."""
    pairs = list(zip(ids(batch, "src"), ids(batch, "tgt"), strict=True))
    for (source, target), (possible, tagged) in zip(pairs, directions(task, batch), strict=True):
        assert source in possible
        assert target == tagged
    return {f"{source}-{target}" for source, target in pairs}


@pytest.mark.parametrize("split", ["train", "valid"])
@pytest.mark.parametrize(
    "more",
    [
        TAG,
        (*TAG, "--virtual-epoch-size", "40", "--virtual-data-size", "160"),
        (*TAG, "--sampling-method", "concat"),
        (*TAG, "--enable-lang-ids"),
        (*TAG, "--sampling-method", "RoundRobin"),
        STRATEGY_3,
        (*STRATEGY_3, "--virtual-epoch-size", "80"),
    ],
    ids=" ".join,
)
def test_rows_of_mixed_batches(split, more):
    task, _, _ = built(*TASK_FLAGS, *more)
    seen = [checked(task, batch) for batch in iterate(task, split)]
    assert any(len(batch_directions) > 2 for batch_directions in seen), "no batch is mixed"
    whole = "--virtual-epoch-size" not in more or split == "valid"
    assert not whole or set().union(*seen) == set(BOTH_WAYS.split(","))


def test_workers_of_the_data_loader_know_them():
    task, _, _ = built(*TASK_FLAGS, *STRATEGY_3)
    batches = iterate(task, "valid", num_workers=1)
    assert sum(len(checked(task, batch)) > 2 for batch in batches)


def without_validation(folder, pairs="*"):
    """The data without the validation sets of some pairs."""
    shutil.copytree(databin(), folder)
    for path in folder.glob(f"valid.{pairs}.*"):
        path.unlink()
    return folder


@pytest.mark.parametrize("strategy", [TAG, STRATEGY_3], ids=" ".join)
def test_a_direction_need_not_have_a_validation_set(strategy, tmp_path):
    data = without_validation(tmp_path / "data", "en-es")
    task, _, _ = built(*TASK_FLAGS, *strategy, data=data)
    seen = {
        split: set().union(*(checked(task, batch) for batch in iterate(task, split)))
        for split in ("train", "valid")
    }
    assert seen["train"] == set(BOTH_WAYS.split(","))
    assert seen["valid"] == seen["train"] - {"en-es", "es-en"}


def test_without_any_validation_set_there_is_no_validation(refused, tmp_path):
    data = without_validation(tmp_path / "data")
    task, _, _ = built(*TASK_FLAGS, *TAG, data=data)
    with refused.raised("no validation set", names="--disable-validation"):
        task.load_dataset("valid")
    flags = (*TASK_FLAGS, *TAG, *CROSS_ENTROPY, "--max-update", "1", "--disable-validation")
    assert len(train(tmp_path / "model", *flags, data=data)) == 1


def test_row_order_and_numbers_are_kept():
    """The wrapper puts its ids into fairseq's order and gives fairseq its own numbers back."""
    task, _, _ = built(*TASK_FLAGS, *TAG)
    task.load_dataset("valid")
    dataset = task.dataset("valid").datasets[1]
    samples = [dataset[index] for index in (4, 1, 3)]
    batch, plain = dataset.collater(samples), dataset.dataset.collater(samples)
    assert batch["id"].tolist() == plain["id"].tolist()
    assert torch.equal(batch["net_input"]["src_tokens"], plain["net_input"]["src_tokens"])
    assert torch.equal(batch["target"], plain["target"])
    assert not dataset.collater([])


@pytest.mark.parametrize("strategy", [TAG, STRATEGY_3], ids=" ".join)
def test_generation_and_interactive(strategy):
    _, task = generation("--task", "tdo_translation", *TASK, *strategy, "-s", "es", "-t", "en")
    for batch in iterate(task, "test", max_sentences=4):
        assert {*ids(batch, "src")} == {"es"} and {*ids(batch, "tgt")} == {"en"}
    lines = ["uno dos", "", "tres"]
    tokens = [task.source_dictionary.encode_line(line).long() for line in lines]
    dataset = task.build_dataset_for_inference(tokens, [len(sentence) for sentence in tokens])
    (batch,) = task.get_batch_iterator(dataset, max_sentences=3).next_epoch_itr(shuffle=False)
    assert sorted(batch["id"].tolist()) == [0, 1, 2]
    assert {*ids(batch, "src")} == {"es"} and {*ids(batch, "tgt")} == {"en"}
