"""The environment of trainings and decodings."""

import os
import platform
import subprocess
import sys

import pytest

from tdo_plugin.launch.environment import cores, settings, threads_each

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


@pytest.fixture(autouse=True)
def untuned(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("GLIBC_TUNABLES", "MALLOC_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("name", ["GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_"])
def test_what_the_user_has_tuned_stays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert set(settings(0, 2)) == {"GLIBC_TUNABLES", "OMP_NUM_THREADS"}
    monkeypatch.setenv(name, "131072")
    assert settings(0) == {}
    assert settings(0, 2) == {"OMP_NUM_THREADS": "2"}


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_not_fetched_anew() -> None:
    def faults(**variables: str) -> int:
        environment = {**os.environ, **variables}
        command = [sys.executable, "-c", FAULTS]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert faults(**settings(0)) < faults() / 4


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads_each(1) == cores()
    assert threads_each(10**6) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_each(1) is None
