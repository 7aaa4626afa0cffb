"""`tdo bench`: of the systems' speed to the table, rows and picture, and of half precision."""

import json
import math
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import torch
from support.commands import told
from support.fork_server import PYTHON
from support.prepared import prepared, trained

# threads that wait do not take the cores from other tests
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
SMALL = ("bench", "--device", "cpu", "--size", "small")
METRICS = {
    "training": ["concatenating", "stock"],
    "training with InstruCL": ["concatenating"],
    "decoding": ["concatenating", "stock"],
    "peak training memory": ["concatenating", "stock"],
    "peak training memory with InstruCL": ["concatenating"],
    "peak memory of a training's processes": ["stock"],
}


@pytest.mark.full
def test_the_table_and_the_files(run, tmp_path):
    files = [tmp_path / name for name in ("rows.json", "growth.png")]
    options = ("--rounds", "1", "--json", files[0], "--plot", files[1])
    done = run("tdo", *SMALL, *options, limit=400, env=ENVIRONMENT)
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr
    rows, baselines = json.loads(files[0].read_text()), {}
    lines = done.stdout.splitlines()
    assert lines[0].startswith("device cpu, hardware ")
    assert sum(line.startswith("| ") for line in lines) == 2 + len(rows)
    assert lines[-2:] == [*map(str, files)]
    assert {*tmp_path.iterdir()} == {*files}
    for row in rows:
        least, most = row["spread"]
        settings = row["settings"]
        assert 0 < least <= row["ratio"] <= most and row["system"] == "two-stream"
        assert settings["cost"] > 0 and settings["baseline_cost"] > 0
        assert settings["hardware"] and settings["precision"] == "fp32"
        assert settings["text"] == "the embedded corpus" and settings["languages"] >= 4
        if settings["axis"] is None:
            baselines.setdefault(row["metric"], []).append(row["baseline"])
    assert baselines == METRICS
    axes = {row["settings"]["axis"] for row in rows} - {None}
    assert axes == {"sentence_length", "batch_tokens", "languages"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("send", "number", "code"),
    [(os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGTERM, 143)],
    ids=["an interrupt of all", "the end of one"],
)
def test_a_signal_ends_every_process(send, number, code, tmp_path):
    command = [str(Path(PYTHON).with_name("tdo")), *SMALL, "train", "--rounds", "1000"]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path)},
    ) as process:
        assert "warm-up" in process.stderr.readline()
        send(process.pid, number)
        errors = process.stderr.read()  # to its end, which is when no process has it open
    assert process.returncode == code
    messages = [line for line in errors.splitlines() if ": two-stream " not in line]
    assert messages == ["tdo bench: " + {130: "error: interrupted", 143: "ended by SIGTERM"}[code]]
    assert not list(tmp_path.glob("tdo-bench-*"))


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
            --path {diverged} --data {data}                             :: finite
        """,
        diverged=diverged,
        data=prepared().root,
    )
