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


@pytest.fixture(scope="module")
def benched(run, tmp_path_factory):
    """What a small run printed, and the folder of its files."""
    folder = tmp_path_factory.mktemp("bench")
    files = ("--json", folder / "rows.json", "--plot", folder / "growth.png")
    done = run("tdo", *SMALL, "--rounds", "2", *files, limit=400, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done, folder


@pytest.mark.full
def test_rows_have_what_they_need(benched):
    _, folder = benched
    rows = json.loads((folder / "rows.json").read_text())
    for row in rows:
        least, most = row["spread"]
        assert 0 < least <= row["ratio"] <= most
        assert row["system"] == "two-stream"
        settings = row["settings"]
        assert settings["cost"] > 0 and settings["baseline_cost"] > 0
        assert settings["hardware"] and settings["precision"] == "fp32"
        assert settings["text"] == "the embedded corpus" and settings["languages"] >= 4
    table = [row for row in rows if row["settings"]["axis"] is None]
    baselines = {}
    for row in table:
        baselines.setdefault(row["metric"], []).append(row["baseline"])
    assert baselines == METRICS
    axes = {row["settings"]["axis"] for row in rows} - {None}
    assert axes == {"sentence_length", "batch_tokens", "languages"}


@pytest.mark.full
def test_the_table_and_the_files_are_named(benched):
    done, folder = benched
    lines = done.stdout.splitlines()
    assert lines[0].startswith("device cpu, hardware ")
    rows = json.loads((folder / "rows.json").read_text())
    assert sum(line.startswith("| ") for line in lines) == 2 + len(rows)
    assert lines[-2:] == [str(folder / "rows.json"), str(folder / "growth.png")]
    assert {path.name for path in folder.iterdir()} == {"rows.json", "growth.png"}
    assert "round 2 of 2: two-stream " in done.stderr
    assert "Warning" not in done.stderr


@pytest.mark.full
def test_a_refused_option_is_one_line(run):
    done = run("tdo", *SMALL, "--options=--nonsense")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "`--options` must be options of fairseq-train" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("send", "number", "code"),
    mostly_full([(os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGTERM, 143)]),
    ids=["an interrupt of all", "the end of one"],
)
def test_a_signal_ends_every_process(send, number, code, tmp_path):
    command = [str(Path(PYTHON).with_name("tdo")), *SMALL, "--rounds", "1000"]
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
