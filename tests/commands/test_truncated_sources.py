"""`--truncate-source` keeps tag and end symbol, wherever text comes in; its advice works."""

import pytest
import torch
from support.commands import command, hypotheses, succeed
from support.data import (
    CROSS_ENTROPY,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    databin,
    generate,
    generation,
    iterate,
    train,
)
from support.made import made_once

TASK_FLAGS = ("--task", "tdo_translation", *TASK)
DE_FR = ("-s", "de", "-t", "fr", "--gen-subset", "test")
LIMIT = 4  # the longest sentence has seven tokens, and its tag
CUT = ("--truncate-source", "--max-source-positions", str(LIMIT))
REPLACING = ("--decoder-langtok", "--lang-tok-replacing-bos-eos")


def rows(batches):
    """The sources without padding, sorted, with how often each is there."""
    return sorted(
        tokens[tokens != 1].tolist()
        for batch in batches
        for tokens in batch["net_input"]["src_tokens"]
    )


def expected(rows):
    """What becomes of sources that were not cut: their beginnings, and their last tokens."""
    return sorted(row if len(row) <= LIMIT else [*row[: LIMIT - 1], row[-1]] for row in rows)


@pytest.mark.parametrize("tags", [TAG, (), (*TAG, "--decoder-langtok"), REPLACING])
@pytest.mark.parametrize("loading", ["lean", "fairseq"])
@pytest.mark.parametrize("split", ["train", "valid"])
def test_training_and_validation(split, loading, tags):
    flags = (*TASK_FLAGS, *TRAIN, *TDO, *tags, "--data-loading", loading)
    whole = rows(iterate(built(*flags)[0], split))
    task, _, _ = built(*flags, *CUT)
    limits = task.max_positions()[0], 1024
    # nothing is left out: no source is longer than the limit
    shorter = rows(iterate(task, split, max_positions=limits))
    assert shorter == expected(whole)
    assert any(len(row) > LIMIT for row in whole)


@pytest.mark.parametrize("tags", [TAG, ()])
def test_generation(tags):
    flags = (*TASK_FLAGS, *tags, *DE_FR)
    whole = rows(iterate(generation(*flags)[1], "test"))
    _, task = generation(*flags, *CUT)
    shorter = rows(iterate(task, "test", max_positions=task.max_positions()))
    assert shorter == expected(whole)


@pytest.mark.parametrize("tags", [TAG, (), REPLACING])
def test_text_as_interactive_use_gives_it(tags):
    lines = [torch.tensor([5, 6, 7, 8, 9, 2]), torch.tensor([5, 2])]
    sizes = [len(line) for line in lines]
    sides = []
    for more in ((), CUT):
        _, task = generation(*TASK_FLAGS, *tags, "-s", "de", "-t", "fr", *more)
        dataset = task.build_dataset_for_inference(lines, sizes)
        if more:
            order = dataset.ordered_indices()
            kept = task.filter_indices_by_size(order, dataset, task.max_positions())
            assert sorted(kept) == [0, 1]
        sides.append(rows([dataset.collater([dataset[0], dataset[1]])]))
    whole, shorter = sides
    assert shorter == expected(whole)


@made_once
def trained(folder):
    """A model that takes no more than seven tokens of a source."""
    few = ("--max-update", "1", "--max-epoch", "1", "--no-epoch-checkpoints", *CROSS_ENTROPY)
    limits = ("--max-source-positions", "7", "--skip-invalid-size-inputs-valid-test")
    train(folder, *TASK_FLAGS, *TAG, *TRAIN, *TDO, *few, *limits)


def model_flags():
    path = trained() / "checkpoint_last.pt"
    return (*TASK_FLAGS, *TAG, "--max-len-b", "5", "--beam", "1", "--path", path)


def test_the_model_s_own_limit_counts(refused):
    """Without `--max-source-positions`, whose default is beyond what the model takes."""
    refused("fairseq-generate", databin(), *model_flags(), *DE_FR, names="--truncate-source")
    printed = generate(*model_flags(), *DE_FR, "--truncate-source")
    assert sorted(hypotheses(printed)) == list(range(6))


@pytest.mark.full
def test_interactive():
    flags = (databin(), *model_flags(), "-s", "de", "-t", "fr", "--cpu")
    text = "eins zwei\n" + " ".join(["drei"] * 30) + "\n"
    refused = command("interactive", *flags, stdin=text)
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    (line,) = [line for line in refused.stderr.split("\n") if line.startswith("error:")]
    assert "must be at least the longest sentence; they are (7, 1024), 1 is longer" in line
    assert "`--truncate-source` cuts sources" in line
    dropping = command("interactive", *flags, "--skip-invalid-size-inputs-valid-test", stdin=text)
    assert "it would leave out lines of the input without a word" in dropping.stderr
    printed = succeed("interactive", *flags, "--truncate-source", stdin=text)
    (source,) = [line for line in printed.split("\n") if line.startswith("S-1")]
    assert source.split("\t")[1] == " ".join(["__fr__", *["drei"] * 5])  # and the end symbol


def test_a_target_that_is_too_long_gets_no_advice_for_sources(refused):
    flags = (*TASK_FLAGS, *TAG, *DE_FR, "--max-target-positions", "3")
    _, task = generation(*flags)
    task.load_dataset("test")
    with refused.raised("long targets", names="leaves them out") as line:
        iterate(task, "test", max_positions=(1024, 3))
    assert "--truncate-source" not in line[0]
