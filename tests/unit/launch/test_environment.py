"""The environment of trainings and decodings."""

import os

import pytest

from tdo_plugin.launch.environment import cores, settings, threads_each


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


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads_each(1) == cores()
    assert threads_each(10**6) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_each(1) is None
