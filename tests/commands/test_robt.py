"""Random online back-translation through fairseq: training, resuming, tuning, decoding."""

import functools
import re
from unittest import mock

import pytest
import torch
from support.commands import logged, succeed, told
from support.configs import named
from support.covering import mostly_full
from support.data import (
    CROSS_ENTROPY,
    ENCODER_DECODER,
    INSTRUCL,
    TAG,
    TASK,
    TDO,
    TRAIN,
    databin,
    generate,
    train,
)
from support.made import made_once
from support.prepared import prepared, trained
from support.trainings import assert_same_parameters
from support.translating import lines

from tdo_plugin.tasks.robt.hook import BackTranslation

BASE = (*TASK, *TAG, *TRAIN, *TDO)
ROBT = ("--task", "tdo_robt", *BASE)
PREFIX = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
# so that some translations of a new model do not repeat themselves
UNTIED = ("--tdo-share-embeddings", "none", "--lr", "0.02")


@made_once
def model(folder):
    more = ("--max-update", "60", "--no-epoch-checkpoints", "--disable-validation")
    train(folder, "--task", "tdo_translation", *BASE, *CROSS_ENTROPY, *UNTIED, *more)


def baseline():
    """A trained model of ``tdo_translation``."""
    return model() / "checkpoint_last.pt"


TUNED = (*CROSS_ENTROPY, "--tdo-share-embeddings", "none", "--finetune-from-model")


def batches_of(folder, *flags):
    """What each batch logs, and what the hook says of each; in this process."""
    records, original = [], BackTranslation.batches

    def batches(*args):
        samples, logs = original(*args)
        records.append({key: value for key, value in logs.items() if key != "robt_seconds"})
        return samples, logs

    with mock.patch.object(BackTranslation, "batches", batches):
        losses = train(folder, *flags)
    return losses, records


# --- training --------------------------------------------------------------------------------

SYSTEMS = {
    "tdo": CROSS_ENTROPY,
    "prefix": (*CROSS_ENTROPY, *PREFIX),
    "encoder-decoder": (*CROSS_ENTROPY, *ENCODER_DECODER),
    "tdo and InstruCL": INSTRUCL,
}


@pytest.mark.full
@pytest.mark.parametrize("name", SYSTEMS)
def test_training_from_the_command_line(name, tmp_path):
    flags = (*SYSTEMS[name], "--lr", "0.05", "--max-update", "25")
    output = succeed("train", databin(), *ROBT, *flags, "--save-dir", tmp_path)
    assert logged(output, "valid_loss") and "valid_robt" not in output
    for language in ("en", "de", "fr", "es"):
        shares = logged(output, f"robt_{language}")
        assert len(shares) == 25
        assert 0.1 < sum(shares) / 25 < 0.4
    dropped = logged(output, "robt_dropped")
    assert all(0 <= share <= 1 for share in dropped)
    assert min(dropped) < 1, "nothing was translated back"
    assert max(logged(output, "robt_length")) >= 1
    assert min(logged(output, "robt_seconds")) > 0
    assert ("instrucl_loss" in output) == ("InstruCL" in name)
    assert (tmp_path / "checkpoint_last.pt").is_file()


@pytest.mark.parametrize(
    ("more",),
    mostly_full([((),), (("--robt-languages", "de,fr", "--robt-targets", "listed"),)]),
    ids=" ".join,
)
def test_stop_and_resume(more, tmp_path):
    """With dropout, accumulation and a stop within an epoch; the first updates train on data alone.

    What is drawn, what is made of it and all parameters are those of a training without a stop.
    """
    flags = (*ROBT, *TUNED, str(baseline()), *more)
    flags += ("--update-freq", "2", "--robt-start-update", "1")
    through = batches_of(tmp_path / "through", *flags, "--max-update", "4")
    first = batches_of(tmp_path / "parts", *flags, "--max-update", "2")
    second = batches_of(tmp_path / "parts", *flags, "--max-update", "4")
    for whole, begun, resumed in zip(through, first, second, strict=True):
        assert begun + resumed == whole
    hook = through[1]
    assert len(hook) == 8
    assert [bool(logs["robt_drawn"]) for logs in hook] == [False] * 2 + [True] * 6
    assert all(logs["robt_made"] for logs in hook[2:])
    assert_same_parameters(tmp_path / "through", tmp_path / "parts")


@pytest.mark.parametrize("precision", mostly_full(["--bf16", "--fp16 --fp16-no-flatten-grads"]))
def test_half_precision_trains(precision, tmp_path):
    flags = (*ROBT, *TUNED, str(baseline()), "--dropout", "0", "--max-update", "3")
    half, drawn = batches_of(tmp_path / "half", *flags, *precision.split())
    full, expected = batches_of(tmp_path / "full", *flags)
    assert [logs["robt_to_fr"] for logs in drawn] == [logs["robt_to_fr"] for logs in expected]
    assert all(logs["robt_made"] for logs in drawn)
    assert half[0]["loss"] == pytest.approx(full[0]["loss"], rel=0.03)
    assert len(half) == len(full) == 6


# --- from a model that was trained without, and to one that translates -----------------------


@pytest.mark.parametrize("start", ["--restore-file", "--finetune-from-model"])
def test_tuning_a_model_of_tdo_translation(start, tmp_path):
    flags = (*ROBT, *TUNED[:-1], start, str(baseline()), "--dropout", "0")
    losses, hook = batches_of(tmp_path, *flags, "--max-update", "62" if "restore" in start else "2")
    assert len(hook) == 2
    assert all(logs["robt_made"] for logs in hook)
    first = "61" if "restore" in start else "1"
    more = ("--task", "tdo_translation", *flags[2:], "--max-update", first)
    plain = train(tmp_path / "plain", *more)
    assert losses[0] == plain[0]
    state = torch.load(tmp_path / "checkpoint_last.pt", weights_only=False)
    assert state["optimizer_history"][-1]["num_updates"] == (62 if "restore" in start else 2)


SHORT = ("--beam", "2", "--max-len-b", "8")


@functools.cache
def tuned():
    """A model of the prepared folder, trained with back-translation."""
    return trained("--max-update", "40", task="tdo_robt")


@pytest.mark.full
def test_its_checkpoints_translate_as_any_other():
    folder = prepared().root
    outputs = {}
    for task in ("tdo_robt", "tdo_translation"):
        flags = ("--task", task, "--path", tuned(), "-s", "de", "-t", "fr")
        languages = ("--langs", "en,de,fr", "--lang-pairs", "de-fr", *TAG, *SHORT)
        outputs[task] = generate(*flags, *languages, "--gen-subset", "test", data=folder)
    kept = [re.findall(r"^[HP]-.*$", output, re.MULTILINE) for output in outputs.values()]
    assert len(kept[0]) == 24
    assert kept[0] == kept[1]


@pytest.mark.full
def test_tdo_translate(translate, tmp_path):
    words = ("--path", tuned(), "--out", tmp_path, "--workers", "1", "--pairs", "de-fr,en-de")
    translate(*words, *SHORT)
    assert len(lines(tmp_path / "de-fr.hyp")) == len(lines(tmp_path / "en-de.hyp")) == 12


def test_tdo_inspect_and_tdo_flags(capsys, tmp_path):
    config = tmp_path / "robt.conf"
    plain = named("quickstart/tdo-instrucl").lines()
    more = ["--task tdo_robt", "--robt-languages de,fr"]
    config.write_text("\n".join([*plain, *more]), encoding="utf-8")
    assert "--task tdo_robt" in told(capsys, "flags", config)[0]
    words = ("inspect", prepared().root, "--batches", "1", "--config", config)
    assert "__fr__" in told(capsys, *words)[0]


# --- what is refused -------------------------------------------------------------------------
