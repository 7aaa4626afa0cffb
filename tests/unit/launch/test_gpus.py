"""Counting GPUs without torch, with stand-ins for torch's folder and a driver."""

import ctypes
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import torch

from tdo_plugin.launch import gpus


class Driver:
    """A driver's library with so many GPUs; each kind has functions of its own name."""

    def __init__(self, start: str, count: str, number: int, code: int) -> None:
        self.started = False
        setattr(self, start, self._start)
        setattr(self, count, self._count)
        self._number, self._code = number, code

    def _start(self, flags: int) -> int:
        self.started = flags == 0
        return self._code

    def _count(self, place: object) -> int:
        assert self.started
        place._obj.value = self._number  # type: ignore[attr-defined]
        return 0


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Let torch be built for some kinds of GPU, and drivers be there by their names."""

    def make(built: list[str], drivers: dict[str, Driver]) -> list[str]:
        (tmp_path / "lib").mkdir()
        for name in built:
            (tmp_path / "lib" / name).touch()
        opened = []

        def load(name: str) -> Driver:
            opened.append(name)
            if Path(name).name not in drivers:
                raise OSError(f"{name}: cannot open shared object file")
            return drivers[Path(name).name]

        spec = ModuleSpec("torch", None, origin=str(tmp_path / "__init__.py"))
        monkeypatch.setattr(gpus, "find_spec", {"torch": spec}.get)
        monkeypatch.setattr(ctypes, "CDLL", load)
        return opened

    return make


CUDA = ("cuInit", "cuDeviceGetCount")
HIP = ("hipInit", "hipGetDeviceCount")


@pytest.mark.parametrize(
    ("built", "drivers", "count"),
    [
        (["libtorch_cuda.so"], {"libcuda.so.1": Driver(*CUDA, 3, 0)}, 3),
        ([], {"libcuda.so.1": Driver(*CUDA, 3, 0)}, 0),
        (["libtorch_cuda.so"], {}, 0),
        # 100 is CUDA's word for a machine without a device
        (["libtorch_cuda.so"], {"libcuda.so.1": Driver(*CUDA, 3, 100)}, 0),
    ],
    ids=["one that works", "a torch for CPUs", "no driver", "one that does not start"],
)
def test_nvidia(machine, built, drivers, count, monkeypatch):
    opened = machine(built, drivers)
    assert gpus.count_gpus() == count and bool(opened) == bool(built)
    monkeypatch.setattr(gpus, "find_spec", lambda name: None)  # no torch at all
    assert gpus.count_gpus() == 0


def test_amd_whose_library_torch_brings(machine, tmp_path):
    files = ["libtorch_hip.so", "libamdhip64.so"]
    opened = machine(files, {"libamdhip64.so": Driver(*HIP, 2, 0)})
    assert gpus.count_gpus() == 2
    assert opened == [str(tmp_path / "lib" / "libamdhip64.so")]


def test_as_torch_counts_and_without_it():
    code = (
        "import sys; from tdo_plugin.launch.gpus import count_gpus; print(count_gpus());"
        "assert 'torch' not in sys.modules"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(shown.stdout) == torch.cuda.device_count()
