"""What spawns workers hands its signals on to them."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SPAWN = """
import os, signal, sys, time
import torch
from tdo_compat.distributed import handing_signals_on

def say(line):
    os.write(1, line.encode() + bytes([10]))  # in one piece: two workers write to one pipe

def work(rank):
    def end(number, _):
        say(f"told {int(number)}")
        sys.exit(143)
    for one in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(one, end)
    say("ready")
    time.sleep(100)

if __name__ == "__main__":
    handing_signals_on(torch.multiprocessing.spawn)(work, nprocs=2, join=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_what_spawns_workers_hands_a_signal_on(number: int, tmp_path: Path) -> None:
    """And ends as they do."""
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    words = [sys.executable, str(script)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as started:
        try:
            assert [started.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
            started.send_signal(number)
            rest, errors = started.communicate(timeout=100)
        finally:
            started.kill()
    assert started.returncode == 143 and "Traceback" not in errors
    assert f"told {int(number)}" in rest.splitlines()
