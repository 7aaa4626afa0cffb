"""Environment variables of the processes that train and decode."""

from __future__ import annotations

import os

# A batch's logits are one block of some hundred megabytes. The C library fetches such a block from
# the system and gives it back each time, and the system clears every page of it anew: up to a
# fifth of a CPU step. So freed memory is kept, and large pages are used where there are any.
# (glibc 2.26 or later, large pages 2.35; other C libraries do not read the variable. Blocks are
# kept from being mapped one by one with mmap_max: before 2.35 a high mmap_threshold is refused.)
KEEP_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in {"hugetlb": 1, "mmap_max": 0, "trim_threshold": 1 << 34}.items()
)


def settings(gpus: int, threads: int | None = None) -> dict[str, str]:
    """What to set. The allocator stays alone where the user has tuned it.

    Args:
        gpus: how many are used; 0 is the CPU.
        threads: CPU threads of the process; None leaves it as it is.
    """
    tuned = any(name.startswith(("GLIBC_TUNABLES", "MALLOC_")) for name in os.environ)
    chosen = {} if gpus or tuned else {"GLIBC_TUNABLES": KEEP_MEMORY}
    return chosen if threads is None else {**chosen, "OMP_NUM_THREADS": str(threads)}


def cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_each(count: int) -> int | None:
    """CPU threads of each of `count` processes that share the cores.

    None where the user has set `OMP_NUM_THREADS`, which they inherit.
    """
    return None if "OMP_NUM_THREADS" in os.environ else max(1, cores() // count)


def visible_gpu(index: int) -> str:
    """The index-th GPU among those that the user left visible, for `CUDA_VISIBLE_DEVICES`."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[index] if visible else str(index)


def announce(variables: dict[str, str]) -> None:
    """Print them, for a line of their own above the commands that they are for."""
    for name, value in variables.items():
        print(f"with {name}={value}", flush=True)
