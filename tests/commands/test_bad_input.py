"""Mistakes end in one line, without a traceback, in a failing command."""

import functools
import shutil

import torch
from support.data import (
    CROSS_ENTROPY,
    INSTRUCL,
    TAG,
    TASK,
    TDO,
    TRAIN,
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


def test_training(refused, tmp_path):
    other, latin = tmp_path / "other", tmp_path / "latin"
    for folder in (other, latin):
        shutil.copytree(databin(), folder)
    dictionary(other / "dict.fr.txt", ("fr", "es"))
    (latin / "dict.fr.txt").write_bytes("été 1\n".encode("latin-1"))
    refused.rows(
        """
        fairseq-train {data} {base}
            --tdo-target-layer 3                      :: --tdo-target-layer
            --tdo-target-layer -1                     :: --tdo-target-layer
            --tdo-target-layer 0                      :: --tdo-adaptation-dim
            --tdo-model-dim -8                        :: --tdo-model-dim
            --tdo-ffn-dim -1                          :: ffn-dim
            --tdo-layers -3                           :: --tdo-layers
            --tdo-heads 3                             :: --tdo-heads
            --dropout 1.5                             :: --dropout
            --tdo-encoder-layers 2                    :: --tdo-encoder-layers
            --tdo-heads -1 --tdo-target-layer 9       :: --tdo-target-layer
            {instrucl} --instrucl-layer 4             :: --instrucl-layer
            --langs en,de,pt-BR --lang-pairs en-de,en-pt-BR :: pt_BR
            --lang-pairs en-de,en-                    :: --lang-pairs
            --lang-pairs en-de,en-xx                  :: xx
            --enable-reservsed-directions-shared-datasets :: --enable-reservsed
            --valid-subset dev                        :: dev
            --lang-pairs en-de,de-fr                  :: train
        fairseq-train {nowhere} {base}                :: data
        fairseq-train {other} {base}                  :: dictionary
        fairseq-train {latin} {base}                  :: encoding
        """,
        data=databin(),
        base=(*BASE, *TDO, *CROSS_ENTROPY, "--max-update", "1"),
        instrucl=INSTRUCL,
        nowhere=tmp_path / "nowhere",
        other=other,
        latin=latin,
    )


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


def test_restoring(refused, tmp_path):
    with refused.raised("a truncated checkpoint", names=truncated()):
        train(tmp_path, *restore_flags(path=truncated()))
    with refused.raised("another order of the dictionary", names="dictionary"):
        train(tmp_path, *restore_flags(), data=other_data("reordered"))
    flags = restore_flags("--tdo-ffn-dim", "16", "--save-dir", tmp_path)
    refused("fairseq-train", databin(), *flags, names=checkpoint(), process=True)
    assert not list(tmp_path.rglob("*.pt"))


def generate_flags(*flags, path=None):
    return (*GENERATE, *TASK, *DE_FR, "--path", path or checkpoint(), *flags)


def test_generating(refused):
    refused.rows(
        """
        fairseq-generate {longer} {flags} -t en --gen-subset valid     :: dictionary
        fairseq-generate {data} {flags}
            --gen-subset spam                          :: spam
            --max-source-positions 4                   :: --skip-invalid-size-inputs-valid-test
        """,
        flags=generate_flags(),
        data=databin(),
        longer=other_data("longer"),
    )
    cut = truncated()
    words = ("fairseq-generate", databin(), "--cpu", *generate_flags(path=cut))
    refused(*words, names=cut, process=True)


def test_a_checkpoint_without_a_dictionary_to_compare_loads(tmp_path):
    state = torch.load(checkpoint(), weights_only=False)
    del state["task_state"]
    torch.save(state, tmp_path / "old.pt")
    assert "H-5" in generate(*generate_flags(path=tmp_path / "old.pt"))
