"""Memory of this machine, and of a process with all that it starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

MIB, GIB = 1 << 20, 1 << 30
SAMPLE = 1.0  # seconds between two looks at a process
REST = 50  # looks wait for at least so many times what the last one took: 3 to 34 ms a GiB
GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")  # of Linux


def machine_memory() -> int:
    """Bytes of memory that may be used here: the machine's, or less in a container (Linux's)."""
    return min([int(psutil.virtual_memory().total), *_limits()])


def _limits() -> Iterator[int]:
    """The limits of the control groups that this process is in, of either version."""
    with suppress(OSError):
        for line in OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            folder, name = GROUPS, "memory.max"
            if controllers:
                folder, name = GROUPS / "memory", "memory.limit_in_bytes"
            if controllers in ("", "memory"):
                own = Path(path.lstrip("/"))
                # in a container the path may be the host's, and the container's own group the root
                for place in (own, *own.parents):
                    with suppress(OSError, ValueError):  # none there, or "max"
                        yield int((folder / place / name).read_text())


def tree_memory(pid: int) -> int:
    """Bytes that a process and its descendants hold; pages that they share count once.

    Args:
        pid: of the process; without it, or them, there are none.
    """
    held = 0
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                memory = process.memory_full_info()
                held += getattr(memory, "pss", memory.uss)  # pss: Linux
    return held


class PeakMemory:
    """The most memory that processes held with their descendants, as looked at regularly.

    Args:
        every: seconds between two looks.

    Attributes:
        bytes: the peak so far; 0 if nothing was seen.
    """

    def __init__(self, every: float = SAMPLE) -> None:
        self.bytes, self._every = 0, every

    @contextmanager
    def watching(self, pid: int) -> Iterator[None]:
        """Look at a process, in a thread, while the block runs."""
        over = threading.Event()

        def look() -> None:
            wait = self._every
            while not over.wait(wait):
                begun = time.monotonic()
                self.bytes = max(self.bytes, tree_memory(pid))
                wait = max(self._every, REST * (time.monotonic() - begun))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def __str__(self) -> str:
        return gib(self.bytes)


def gib(size: float) -> str:
    """``1.2 GiB``."""
    return f"{size / GIB:.1f} GiB"
