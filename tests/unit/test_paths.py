"""Options of fairseq's that name a file which is not there."""

import sys

import pytest
import torch
from support.data import TASK, TDO, TRAIN, databin

FLAGS = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO)
MISSING = "m0/checkpoint_lats.pt"
TRAINING = (
    *("restore-file", "finetune-from-model", "continue-once", "lang-dict", "source-dict"),
    *("target-dict", "fixed-dictionary", "sampling-weights-from-file"),
)


@pytest.fixture
def begun(monkeypatch):
    from fairseq import options

    def begin(parser, *flags):
        monkeypatch.setattr(sys, "argv", ["fairseq", str(databin()), *flags])
        return options.parse_args_and_arch(getattr(options, f"get_{parser}_parser")())

    return begin


def test_a_command_does_not_begin(begun, refused):
    for option in TRAINING:
        with refused.raised(option, names=f"`--{option}`"):
            begun("training", *FLAGS, f"--{option}", MISSING)
    with refused.raised("a long path", names="--restore-file"):
        begun("training", *FLAGS, "--restore-file", "x\n" * 10_000)
    for flags in (
        ("--bpe", "sentencepiece", "--sentencepiece-model", MISSING),
        ("--bpe", "subword_nmt", "--bpe-codes", MISSING),
        ("--bpe", "gpt2", "--gpt2-encoder-json", MISSING),
        ("--lm-path", MISSING),
    ):
        with refused.raised(" ".join(flags), names=f"`{flags[-2]}`"):
            begun("generation", "--task", "tdo_translation", *TASK, "--path", "model.pt", *flags)


def test_fairseq_s_default_may_be_missing(begun, tmp_path):
    begun("training", *FLAGS)
    checkpoint = tmp_path / "model.pt"
    cfg = {"task": {"_name": "translation"}, "model": {"_name": "transformer"}}
    torch.save({"model": {}, "cfg": cfg}, checkpoint)
    args = begun("training", *FLAGS, "--restore-file", str(checkpoint))
    assert args.restore_file == str(checkpoint)
