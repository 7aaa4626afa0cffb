"""`tdo bench half-precision`, of random weights and of a checkpoint."""

import json
import math
import re

import pytest
import torch
from support.commands import told
from support.prepared import prepared, trained

from tdo_plugin.cli import main

HALF = ("bench", "half-precision", "--device", "cpu")


def test_random_weights(capsys, tmp_path):
    file = tmp_path / "numbers.json"
    sizes = "--tdo-norm pre --tdo-layers 4 --tdo-laln both --loss-terms instrucl"
    words = ("--size", "small", f"--options={sizes}", "--json", file)
    printed, _ = told(capsys, *HALF, *words)
    rows = [line.split(" | ") for line in printed.splitlines() if re.match(r"\| \d", line)]
    assert [row[0] for row in rows] == ["| 1", "| 2", "| 3", "| 4"]
    assert "weights random, text the embedded corpus, options --tdo-norm pre" in printed
    assert re.search(
        r"^largest activation: [\d.]+, .* of layer \d, .* below 65,504$", printed, re.M
    )
    numbers = json.loads(file.read_text())
    assert len(numbers["layers"]) == 5 and numbers["scales"] == {"fp16": 128, "bf16": 1}
    assert printed.splitlines()[-1] == str(file)


@pytest.mark.long
def test_a_checkpoint_with_its_losses(capsys):
    path = trained("--criterion", "label_smoothed_cross_entropy_instrucl")
    printed, _ = told(capsys, *HALF, "--path", path, "--data", prepared().root)
    assert f"weights {path}, instrucl, text {prepared().root}" in printed
    assert "overflow" not in printed.replace("without overflow", "")


@pytest.mark.long
def test_a_diverged_checkpoint_is_refused(capsys, tmp_path):
    path = tmp_path / "diverged.pt"
    model = trained("--criterion", "label_smoothed_cross_entropy_instrucl")
    state = torch.load(model, weights_only=False)
    name = next(name for name in state["model"] if name.endswith("inner.weight"))
    torch.save({**state, "model": {**state["model"], name: state["model"][name] * math.nan}}, path)
    words = ("--path", path, "--data", prepared().root)
    _, error = told(capsys, *HALF, *words, code=2)
    assert error.endswith("`--path` must give a finite loss in fp32; it is nan\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rounds", "2"), "`--rounds` must be left out with half-precision; it is given"),
        (("--each",), "`--each` must be left out with half-precision; it is given"),
        (("--path", "model.pt"), "`--path` must come with --data; it is alone"),
        (
            ("--path", "model.pt", "--data", ".", "--options=--x 1"),
            "`--options` must be left out with --path; it is given",
        ),
        (("--options=--nonsense",), "`--options` must be options of fairseq-train; its error"),
    ],
)
def test_mistakes_are_one_line(words, message, capsys):
    assert main([*HALF, *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error


def test_a_checkpoint_is_only_for_half_precision(capsys):
    assert main(["bench", "--path", "model.pt"]) == 2
    assert "`--path` must come with half-precision" in capsys.readouterr().err
