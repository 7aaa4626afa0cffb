"""`tdo bench`, from the systems' processes to the table, the rows and the picture."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.covering import mostly_full
from support.fork_server import PYTHON

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


@pytest.mark.parametrize(
    ("send", "number", "code"),
    mostly_full([(os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGTERM, 143)]),
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
