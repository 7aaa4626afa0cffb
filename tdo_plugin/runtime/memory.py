"""Memory of this machine, and of a process with all that it starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

GIB = 1 << 30
SAMPLE = 1.0  # seconds between two looks at a process; one takes some milliseconds
GROUPS = Path("/sys/fs/cgroup")


def machine_memory() -> int:
    """Bytes of memory that may be used here: the machine's, or less in a container (Linux)."""
    return min([int(psutil.virtual_memory().total), *_limits()])


def _limits() -> Iterator[int]:
    """The limits of the control groups that this process is in, of either version."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "memory"):
                name = "memory/memory.limit_in_bytes" if controllers else "memory.max"
                folder, _, file = name.rpartition("/")
                # a container may show the host's path, although its own group is at the top
                places = [Path(path.lstrip("/")), *Path(path.lstrip("/")).parents]
                for place in places:
                    with suppress(OSError, ValueError):
                        yield int((GROUPS / folder / place / file).read_text())


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
            while not over.wait(self._every):
                self.bytes = max(self.bytes, tree_memory(pid))

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
