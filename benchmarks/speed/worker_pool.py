"""The processes of a benchmark, and the environment variables of each."""

from __future__ import annotations

import os
from pathlib import Path

from speed.processes import SystemProcess
from tdo_plugin.launch.environment import cores, settings

SCALES = "scales"
MOST = 3  # processes at a time, each with its model
# Freed memory goes back to the system at once, so that what a process has is what it needs. What
# the C library keeps for later would hide that, and training itself lets it keep much.
GIVE_BACK = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MALLOC_MMAP_MAX_": "1000000",
}


class WorkerPool:
    """Processes by name, each started when it is asked for, in place of the longest unasked one.

    Args:
        folder: a place for their files.
        device: `cpu` or `cuda`.
    """

    def __init__(self, folder: Path, device: str) -> None:
        self._folder, self._gpus = folder, int(device == "cuda")
        self._processes: dict[str, SystemProcess] = {}
        self._number = 0  # of those started

    def member(self, system: str) -> SystemProcess:
        """The process that trains and decodes a system, set up as `tdo train` does it."""
        return self._process(system, {**os.environ, **settings(self._gpus, cores())})

    def scales(self) -> SystemProcess:
        """The process that weighs memory; the others, which take memory as well, are ended."""
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
        self._processes[name] = process  # the last one, so that it is ended last
        return process

    def end(self) -> None:
        """End all of them."""
        for process in self._processes.values():
            process.end()
        self._processes.clear()
