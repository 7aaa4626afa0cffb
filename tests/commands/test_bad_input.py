"""Mistakes end in one line, without a traceback, in a failing command."""

import functools
import shutil

import pytest
import torch
from support.commands import refused
from support.data import (
    CROSS_ENTROPY,
    ENCODER_DECODER,
    INSTRUCL,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    databin,
    dictionary,
    generate,
    preprocess,
    preprocess_flags,
    temporary,
    train,
)
from support.made import made_once

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN)
GENERATE = ("--task", "tdo_translation", *TAG, "--beam", "2", "--max-len-b", "8")
DE_FR = ("-s", "de", "-t", "fr", "--gen-subset", "test")


def raised_by(function, *flags, **options):
    """The one line of an error that a command shows so."""
    with pytest.raises(Exception, match="") as raised:
        function(*flags, **options)
    assert getattr(raised.value, "one_line", False), repr(raised.value)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@made_once
def trained(folder):
    train(folder, *BASE, *TDO, *CROSS_ENTROPY, "--max-update", "2", "--max-epoch", "1")


def checkpoint():
    return trained() / "checkpoint_last.pt"


@made_once
def other_data(out, name):
    """en-de binarised with a dictionary that is not :func:`databin`'s."""
    folder = out / "text"
    shutil.copytree(databin().parent / "text", folder)
    languages = {"longer": ("en", "de", "fr", "es"), "reordered": ("es", "fr", "de", "en")}[name]
    path = dictionary(folder / "dict.txt", languages)
    if name == "longer":
        with path.open("a", encoding="utf-8") as file:
            file.write("more 1\n")
    for pair in ("en-de", "en-fr", "en-es"):
        preprocess(out, *preprocess_flags(folder, pair))


# --- the command line ------------------------------------------------------------------------

TRAINING = {
    "M above": (("--tdo-target-layer", "3"), "`--tdo-target-layer` must be from 0 to 2"),
    "M below": (("--tdo-target-layer", "-1"), "`--tdo-target-layer` must be from 0 to 2"),
    "adaptation without a stage": (
        ("--tdo-target-layer", "0"),
        "`--tdo-adaptation-dim` must be 0 if `--tdo-target-layer` is 0",
    ),
    "negative width": (("--tdo-model-dim", "-8"), "`--tdo-model-dim` must be positive; it is -8"),
    "negative FFN": (("--tdo-ffn-dim", "-1"), "must be positive; it is -1"),
    "negative layers": (("--tdo-layers", "-3"), "`--tdo-layers` must be positive; it is -3"),
    "heads": (("--tdo-heads", "3"), "`--tdo-model-dim` must be a multiple of `--tdo-heads`"),
    "dropout": (("--dropout", "1.5"), "`--dropout` must be at least 0 and below 1; it is 1.5"),
    "layers of the other topology": (
        ("--tdo-encoder-layers", "2"),
        "`--tdo-encoder-layers` must not be set if `--tdo-topology` is decoder-only; it is 2",
    ),
    "InstruCL layer": (
        (*INSTRUCL, "--instrucl-layer", "4"),
        "`--instrucl-layer` must be from 1 to 3",
    ),
    "InstruCL layer of an encoder-decoder": (
        (*INSTRUCL, *ENCODER_DECODER, "--instrucl-layer", "3"),
        "`--instrucl-layer` must be from 1 to 2",
    ),
    "hyphens": (
        ("--langs", "en,de,pt-BR", "--lang-pairs", "en-de,en-pt-BR"),
        "of codes without a hyphen (pt_BR for pt-BR); it has en-pt-BR",
    ),
    "half a direction": (("--lang-pairs", "en-de,en-"), "must be directions such as en-de"),
    "unknown language": (("--lang-pairs", "en-de,en-xx"), "xx"),
    "reservsed directions": (
        ("--enable-reservsed-directions-shared-datasets",),
        "`--enable-reservsed-directions-shared-datasets` must be off",
    ),
    "missing split": (("--valid-subset", "dev"), "`data` must have split dev"),
    "missing direction": (("--lang-pairs", "en-de,de-fr"), "must have split train for each of"),
    "no such folder": ((), "`data` must be a folder of fairseq-preprocess"),
}
IN_A_PROCESS = ("M above", "InstruCL layer of an encoder-decoder")


def training_flags(name):
    flags, _ = TRAINING[name]
    data = temporary() / "nowhere" if name == "no such folder" else databin()
    return (data, *BASE, *TDO, *CROSS_ENTROPY, *flags, "--max-update", "1")


@pytest.mark.parametrize("name", IN_A_PROCESS)
def test_training_ends_in_one_line(name, tmp_path):
    assert TRAINING[name][1] in refused("train", *training_flags(name), "--save-dir", tmp_path)
    assert not list(tmp_path.rglob("*.pt"))


def start(*flags, data=None):
    """All that a training does before its first batch, without hydra."""
    task, _, _ = built(*flags, data=data)
    args = task.args
    task.load_dataset("train" if args.valid_subset == "valid" else args.valid_subset, epoch=1)


@pytest.mark.parametrize("name", TRAINING)
def test_training_raises_what_is_shown_as_one_line(name):
    data, *flags = map(str, training_flags(name))
    assert TRAINING[name][1] in raised_by(start, *flags, data=data)


def test_dictionaries_that_differ_among_languages(tmp_path):
    data = tmp_path / "data"
    shutil.copytree(databin(), data)
    dictionary(data / "dict.fr.txt", ("fr", "es"))
    line = raised_by(start, *BASE, *TDO, *CROSS_ENTROPY, data=data)
    assert "`data` must have one dictionary for all source languages" in line


def test_all_that_is_wrong_is_told_at_once():
    flags = ("--tdo-target-layer", "9", "--tdo-heads", "-1", "--dropout", "2")
    line = raised_by(start, *BASE, *TDO, *CROSS_ENTROPY, *flags)
    assert all(f"`{flag}`" in line for flag in flags[::2])


# --- checkpoints -----------------------------------------------------------------------------


@functools.cache
def truncated():
    cut = temporary() / "cut.pt"
    cut.write_bytes(checkpoint().read_bytes()[:5000])
    return cut


def restore_flags(*flags, path=None):
    limits = ("--max-update", "3", "--reset-optimizer", "--reset-dataloader")
    restore = ("--restore-file", str(path or checkpoint()))
    return (*BASE, *TDO, *CROSS_ENTROPY, *restore, *limits, *flags)


def test_restoring_another_architecture(tmp_path):
    flags = restore_flags("--tdo-ffn-dim", "16")
    line = refused("train", databin(), *flags, "--save-dir", tmp_path)
    assert str(checkpoint()) in line
    assert "architecture" in line
    assert not list(tmp_path.rglob("*.pt"))


def test_restoring_a_truncated_checkpoint(tmp_path):
    line = raised_by(train, tmp_path, *restore_flags(path=truncated()))
    assert f"{truncated()} is not a complete checkpoint" in line


def test_restoring_beside_another_dictionary_of_the_same_size(tmp_path):
    line = raised_by(train, tmp_path, *restore_flags(), data=other_data("reordered"))
    assert "dictionary must be the checkpoint's" in line


def generate_flags(*flags, path=None, languages=TASK):
    where = ("--path", path or checkpoint())
    return (*GENERATE, *languages, *DE_FR, *where, *flags)


def test_generating_with_another_number_of_words():
    flags = generate_flags("-t", "en", "--gen-subset", "valid")
    assert "dictionary" in raised_by(generate, *flags, data=other_data("longer"))


def test_generating_with_the_same_words_in_another_order():
    flags = generate_flags("-t", "en", "--gen-subset", "valid")
    line = raised_by(generate, *flags, data=other_data("reordered"))
    assert "dictionary must be the checkpoint's" in line


def test_generating_with_a_truncated_checkpoint():
    line = refused("generate", databin(), "--cpu", *generate_flags(path=truncated()))
    assert f"{truncated()} is not a complete checkpoint" in line


def test_generating_a_missing_split():
    line = raised_by(generate, *generate_flags("--gen-subset", "spam"))
    assert "`data` must have split spam" in line


def test_generating_too_long_sentences():
    line = raised_by(generate, *generate_flags("--max-source-positions", "4"))
    assert "must be at least the longest sentence; they are (4, 1024)" in line
    assert "--skip-invalid-size-inputs-valid-test" in line


def test_generating_with_other_languages():
    """The order of --langs fixes the tags."""
    languages = ("--langs", "de,en,fr,es", "--lang-pairs", "de-fr")
    assert "must be the checkpoint's" in raised_by(generate, *generate_flags(languages=languages))


def test_a_checkpoint_without_a_dictionary_to_compare_loads(tmp_path):
    state = torch.load(checkpoint(), weights_only=False)
    del state["task_state"]
    torch.save(state, tmp_path / "old.pt")
    assert "H-5" in generate(*generate_flags(path=tmp_path / "old.pt"))
