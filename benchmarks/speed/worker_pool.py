"""The processes of a benchmark, and the environment variables of each."""

from __future__ import annotations

import os
from pathlib import Path

from speed.plan import STOCK
from speed.processes import SystemProcess
from tdo_plugin.launch.environment import cores, settings

SCALES = "scales"
MOST = 5  # processes at a time, each with its model
# Return freed memory to the system immediately, so that a process has only the memory it needs.
# Otherwise the C library keeps freed memory, and in training deliberately keeps a lot.
GIVE_BACK = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MALLOC_MMAP_MAX_": "1000000",
}


def environment(system: str, gpus: int) -> dict[str, str]:
    """All variables of a system's training: those that `tdo train` sets on so many GPUs.

    Stock fairseq has those of a plain fairseq-train, whose allocator is not tuned.
    """
    tuned = {} if system == STOCK else settings(gpus)
    return {**os.environ, **tuned, "OMP_NUM_THREADS": str(cores())}


class WorkerPool:
    """Processes by name, each started when needed, replacing the least recently used one.

    Args:
        folder: a folder for their files.
        device: `cpu` or `cuda`.
    """

    def __init__(self, folder: Path, device: str) -> None:
        self._folder, self._gpus = folder, int(device == "cuda")
        self._processes: dict[str, SystemProcess] = {}
        self._number = 0  # number of started processes

    def member(self, system: str) -> SystemProcess:
        """The process that trains and decodes a system, with the environment of its training."""
        return self._process(system, environment(system, self._gpus))

    def scales(self) -> SystemProcess:
        """The process that measures memory; ends the others, which also use memory."""
        if SCALES not in self._processes:
            self.end()
        tuned = ("GLIBC_TUNABLES", "MALLOC_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(tuned)}
        return self._process(SCALES, {**kept, "OMP_NUM_THREADS": str(cores()), **GIVE_BACK})

    def _process(self, name: str, environment: dict[str, str]) -> SystemProcess:
        process = self._processes.pop(name, None)
        if process is None:
            if len(self._processes) == MOST:
                self._processes.pop(next(iter(self._processes))).end()
            self._number += 1
            process = SystemProcess(environment, self._folder / str(self._number))
        self._processes[name] = process  # most recently used
        return process

    def end(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.end()
        self._processes.clear()
