"""The environment of trainings and decodings."""

import os
from types import SimpleNamespace

import pytest
import torch

import tdo_plugin
from tdo_plugin.launch import environment
from tdo_plugin.launch.environment import cores, settings, threads_each, tune_training


@pytest.fixture(autouse=True)
def untuned(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GLIBC_TUNABLES", "MALLOC_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("name", ["GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_"])
def test_what_the_user_has_tuned_stays(monkeypatch, name):
    """On a GPU nothing but threads is set."""
    assert (settings(1), settings(1, 3)) == ({}, {"OMP_NUM_THREADS": "3"})
    assert set(settings(0, 2)) == {"GLIBC_TUNABLES", "OMP_NUM_THREADS"}
    monkeypatch.setenv(name, "131072")
    assert settings(0) == {}
    assert settings(0, 2) == {"OMP_NUM_THREADS": "2"}


def test_a_training_keeps_memory_unless_it_uses_a_gpu_or_is_tuned(monkeypatch):
    calls: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda *pair: calls.append(pair))
    monkeypatch.setattr(environment.ctypes, "CDLL", lambda _: library)
    tune_training(cpu=True)
    assert calls == [(environment.M_MMAP_MAX, 0), (environment.M_TRIM_THRESHOLD, -1)]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    tune_training(cpu=False)
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    tune_training(cpu=True)
    monkeypatch.setattr(environment.ctypes, "CDLL", lambda _: SimpleNamespace())
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    tune_training(cpu=True)  # another C library
    assert len(calls) == 2


def test_every_training_is_tuned(monkeypatch):
    seen: list[bool] = []
    monkeypatch.setattr(environment, "tune_training", seen.append)
    common = SimpleNamespace(cpu=True)
    with tdo_plugin._record_training(
        SimpleNamespace(common=common, checkpoint=SimpleNamespace(no_save=True))
    ):
        assert seen == [True]


def test_processes_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads_each(1) == cores()
    assert threads_each(10**6) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_each(1) is None
