"""Memory of the machine or its container, and of processes with all that they start."""

import os
import subprocess
import sys

import psutil
import pytest
from support.processes import until

from tdo_plugin.runtime import memory
from tdo_plugin.runtime.memory import MIB, PeakMemory, machine_memory, tree_memory

HOLDS = "block = bytearray(64 << 20); print(flush=True); input()"
STARTS = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {HOLDS!r}])"


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("0::/jobs/one", "jobs/memory.max"),
        ("0::/of/the/host", "memory.max"),
        ("4:memory:/one", "memory/one/memory.limit_in_bytes"),
    ],
    ids=["version 2, a parent's", "version 2, in a container", "version 1"],
)
def test_a_container_may_have_less_than_its_machine(line, file, tmp_path, monkeypatch):
    own = tmp_path / "cgroup"
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    monkeypatch.setattr(memory, "OWN_GROUPS", own)
    assert machine_memory() == psutil.virtual_memory().total  # not on Linux
    own.write_text(f"3:cpuset:/\n{line}\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("max\n")
    assert machine_memory() == psutil.virtual_memory().total
    (tmp_path / file).write_text("1048576\n")
    assert machine_memory() == MIB


def test_memory_is_of_a_process_and_what_it_starts():
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.readline()
    peak = PeakMemory(0.01)
    with peak.watching(process.pid):
        until(lambda: peak.bytes)
    assert 64 * MIB < tree_memory(process.pid) < 128 * MIB
    process.communicate(b"\n")
    assert 64 * MIB < peak.bytes < 128 * MIB and str(peak) == "0.1 GiB"
    assert tree_memory(process.pid) == 0
    assert tree_memory(os.getpid()) > MIB
