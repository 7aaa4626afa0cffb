"""The environment of trainings and decodings."""

import os
import platform
import subprocess
import sys

import pytest

from tdo_plugin.launch.environment import settings

FAULTS = """
import resource, torch
x = torch.ones(16 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    y = x * 2
    del y
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_on_a_gpu_nothing_but_threads_is_set() -> None:
    assert settings(1) == {}
    assert settings(1, 3) == {"OMP_NUM_THREADS": "3"}


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    assert "GLIBC_TUNABLES" in settings(0)
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=0")
    assert settings(0) == {}


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_not_fetched_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)

    def faults(**variables: str) -> int:
        environment = {**os.environ, **variables}
        command = [sys.executable, "-c", FAULTS]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert faults(**settings(0)) < faults() / 4
