"""The stock commands in processes of their own, warnings from our files being errors."""

import functools
import re
import sys

import pytest
from support.commands import environment, hypotheses, logged, scores, succeed
from support.covering import mostly_full
from support.data import (
    CROSS_ENTROPY,
    INSTRUCL,
    SIZES,
    TAG,
    TASK,
    TDO,
    TRAIN,
    databin,
    generate,
    preprocess_flags,
    train,
)
from support.made import made_once
from support.processes import finished

GENERATE = (*TASK, *TAG, "--beam", "3", "--max-len-b", "10")
DE_FR = ("-s", "de", "-t", "fr", "--gen-subset", "test")


@made_once
def model(folder, seed):
    """A model that has seen a few batches."""
    flags = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY)
    ending = ("--max-update", "12", "--no-epoch-checkpoints", "--max-epoch", "6")
    train(folder, *flags, "--seed", seed, *ending)


def checkpoint(seed="3"):
    return model(seed) / "checkpoint_last.pt"


def generate_flags(*flags, task="tdo_translation", path=None):
    """From German to French, which the model never saw together."""
    return ("--task", task, *GENERATE, *DE_FR, "--path", path or checkpoint(), *flags)


@functools.cache
def generated(*flags, **options):
    """Output of fairseq-generate, run in this process."""
    return generate(*generate_flags(*flags, **options))


def test_the_filter_makes_warnings_of_our_files_errors():
    for module, fails in (("tdo_plugin.modules.stack", True), ("elsewhere", False)):
        code = f"import warnings; warnings.warn_explicit('x', UserWarning, 'f', 1, '{module}')"
        done = finished([sys.executable, "-c", code], env=environment())
        assert (done.returncode != 0) == fails


def test_preprocess(tmp_path):
    folder = databin().parent / "text"
    output = succeed(
        "preprocess", *preprocess_flags(folder, "en-de"), "--destdir", tmp_path / "out"
    )
    assert "0.0% replaced" in output
    for name in ("train.en-de.en.bin", "test.en-de.de.idx", "dict.en.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (databin() / name).read_bytes()


@pytest.mark.parametrize("task", mostly_full(["tdo_translation", "translation_multi_simple_epoch"]))
def test_train_validate(task, tmp_path):
    criterion = INSTRUCL if task == "tdo_translation" else CROSS_ENTROPY
    task_flags = (databin(), "--task", task, *TASK, *TAG)
    ending = ("--max-update", "3", "--save-dir", tmp_path)
    output = succeed("train", *task_flags, *TRAIN, *TDO, *criterion, *ending)
    losses = logged(output, "loss")
    assert len(losses) == 3
    assert (len(logged(output, "instrucl_loss")) == 3) == (criterion is INSTRUCL)
    (valid_loss,) = logged(output, "valid_loss")
    if task == "tdo_translation":
        flags = ("--cpu", "--valid-subset", "valid", "--max-tokens", "120", "--log-format", "json")
        path = ("--path", tmp_path / "checkpoint_last.pt")
        again = succeed("validate", *task_flags, *flags, *path)
        assert logged(again, "valid_loss") == [valid_loss]
        assert logged(again, "valid_instrucl_loss") == logged(output, "valid_instrucl_loss")


def test_generate():
    output = succeed("generate", databin(), "--cpu", *generate_flags())
    translations = hypotheses(output)
    assert translations == hypotheses(generated())
    assert scores(output) == scores(generated())
    assert sorted(translations) == list(range(SIZES["test"]))
    assert "__fr__" not in "".join(translations.values())
    assert re.search(r"Generate test with beam=3: BLEU4 = ", output)


@pytest.mark.parametrize(
    ("flags", "task", "tolerance"),
    [
        (("--batch-size", "1"), "tdo_translation", {"abs": 1e-3}),
        ((), "translation_multi_simple_epoch", {"rel": 1e-5}),
        (("--whole-search",), "tdo_translation", {"rel": 1e-5}),
    ],
    ids=["one at a time", "stock task", "whole vocabulary"],
)
def test_other_ways_to_generate_give_the_same(flags, task, tolerance):
    output = generated(*flags, task=task)
    assert hypotheses(output) == hypotheses(generated())
    assert scores(output) == pytest.approx(scores(generated()), **tolerance)


def test_generate_with_prefixes():
    output = generated("--prefix-size", "2")
    targets = dict(re.findall(r"^T-(\d+)\t(.*)$", output, re.MULTILINE))
    for number, words in hypotheses(output).items():
        assert words.split()[:2] == targets[str(number)].split()[:2]
    assert hypotheses(output) != hypotheses(generated())


@pytest.mark.parametrize("count", [2, 3])
def test_parts_of_a_test_set_are_the_whole(count):
    """`--num-shards N --shard-id I`: each source once, and no other lines."""
    shards = ("--max-tokens", "20", "--num-shards", str(count), "--shard-id")
    parts = [generated(*shards, str(part)) for part in range(count)]
    whole, together = generated("--max-tokens", "20"), "\n".join(parts)
    assert all(hypotheses(part) for part in parts)
    assert hypotheses(together) == hypotheses(whole)
    assert scores(together) == pytest.approx(scores(whole), abs=1e-4)
    sources = [re.findall(r"^[ST]-.*$", output, re.MULTILINE) for output in (together, whole)]
    assert sorted(sources[0]) == sorted(sources[1])


def test_generate_by_sampling():
    flags = ("--sampling", "--sampling-topk", "5", "--beam", "1", "--nbest", "1")
    first, second = (generated(*flags, "--seed", seed) for seed in ("1", "2"))
    assert sorted(hypotheses(first)) == sorted(hypotheses(second)) == list(range(SIZES["test"]))
    assert hypotheses(first) != hypotheses(second)


@pytest.mark.full
def test_generate_with_an_ensemble():
    first, second = checkpoint(), checkpoint(seed="4")
    twice = generated(path=f"{first}:{first}")
    assert hypotheses(twice) == hypotheses(generated())
    both = generated(path=f"{first}:{second}")
    assert sorted(hypotheses(both)) == list(range(SIZES["test"]))
    assert scores(both) != scores(generated())


@pytest.mark.parametrize("precision", ["--bf16", "--fp16"])
def test_generate_in_half_precision(precision):
    output = generated(precision)
    assert scores(output) == pytest.approx(scores(generated()), abs=0.15)
    # bf16's steps are coarse: the scores show that it was really on
    assert scores(output) != scores(generated())


def test_interactive():
    sources = (databin().parent / "text" / "test.de-fr.de").read_text(encoding="utf-8").split("\n")
    lines = [*sources[:2], "", sources[2], "eins unbekannt"]
    words = (databin(), "--task", "tdo_translation", *GENERATE, *DE_FR[:4], "--cpu")
    words += ("--path", checkpoint(), "--buffer-size", "10", "--batch-size", "4")
    printed = succeed("interactive", *words, stdin="".join(f"{line}\n" for line in lines))
    translations = hypotheses(printed)
    assert sorted(translations) == list(range(5))
    batch = hypotheses(generated())
    assert [translations[0], translations[1], translations[3]] == [batch[0], batch[1], batch[2]]
