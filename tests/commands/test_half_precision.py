"""`tdo bench half-precision`, of random weights and of a checkpoint."""

import json
import math
import re

import torch
from support.commands import told
from support.prepared import prepared, trained

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


def model():
    return trained("--criterion", "label_smoothed_cross_entropy_instrucl", "--max-update", "5")


def test_a_checkpoint_with_its_losses(capsys):
    printed, _ = told(capsys, *HALF, "--path", model(), "--data", prepared().root)
    assert f"weights {model()}, instrucl, text {prepared().root}" in printed
    assert "overflow" not in printed.replace("without overflow", "")


def test_mistakes(refused, tmp_path):
    diverged = tmp_path / "diverged.pt"
    state = torch.load(model(), weights_only=False)
    next(value for name, value in state["model"].items() if "inner.weight" in name).fill_(math.nan)
    torch.save(state, diverged)
    refused.rows(
        """
        bench --path model.pt                                           :: half-precision
        bench half-precision --device cpu
            --rounds 2                                                  :: --rounds
            --each                                                      :: --each
            --path model.pt                                             :: --data
            --path model.pt --data . --options="--x 1"                  :: --options
            --options=--nonsense                                        :: --options
            --path {diverged} --data {data}                             :: --path
        """,
        diverged=diverged,
        data=prepared().root,
    )
