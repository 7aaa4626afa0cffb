"""Options of fairseq's that name a file which is not there."""

import sys

import pytest
import torch
from support.data import TASK, TDO, TRAIN, databin

from tdo_compat import paths
from tdo_compat.errors import one_line

FLAGS = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO)
MISSING = "m0/checkpoint_lats.pt"
TRAINING = (
    *("restore-file", "finetune-from-model", "continue-once", "lang-dict", "source-dict"),
    *("target-dict", "fixed-dictionary", "sampling-weights-from-file"),
)


@pytest.fixture
def begun(monkeypatch):
    """The options of a command, as it reads them when it begins."""
    from fairseq import options

    def begin(parser, *flags):
        monkeypatch.setattr(sys, "argv", ["fairseq", str(databin()), *flags])
        return options.parse_args_and_arch(getattr(options, f"get_{parser}_parser")())

    return begin


@pytest.mark.parametrize("option", TRAINING)
def test_a_training_does_not_begin(begun, option):
    with pytest.raises(paths.MissingPathError) as caught:
        begun("training", *FLAGS, f"--{option}", MISSING)
    line = one_line(type(caught.value), caught.value)
    assert line.startswith(f"`--{option}` must be an existing file; {MISSING} does not")


@pytest.mark.parametrize(
    "flags",
    [
        ("--bpe", "sentencepiece", "--sentencepiece-model", MISSING),
        ("--bpe", "subword_nmt", "--bpe-codes", MISSING),
        ("--bpe", "gpt2", "--gpt2-encoder-json", MISSING),
        ("--lm-path", MISSING),
    ],
)
def test_a_generation_does_not_begin(begun, flags):
    with pytest.raises(paths.MissingPathError, match="must be an existing file"):
        begun("generation", "--task", "tdo_translation", *TASK, "--path", "model.pt", *flags)


def test_fairseq_s_default_may_be_missing(begun, tmp_path):
    begun("training", *FLAGS)
    checkpoint = tmp_path / "model.pt"
    cfg = {"task": {"_name": "translation"}, "model": {"_name": "transformer"}}
    torch.save({"model": {}, "cfg": cfg}, checkpoint)
    args = begun("training", *FLAGS, "--restore-file", str(checkpoint))
    assert args.restore_file == str(checkpoint)


def test_a_long_path_makes_a_short_message(begun):
    with pytest.raises(paths.MissingPathError) as caught:
        begun("training", *FLAGS, "--restore-file", "x\n" * 10_000)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)
