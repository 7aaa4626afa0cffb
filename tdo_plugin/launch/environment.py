"""Environment variables of training and decoding processes."""

from __future__ import annotations

import ctypes
import os

# A batch's logits are one block of some hundred megabytes. The C library requests such a block from
# the system and returns it every time, and the system clears all its pages: up to a fifth of a
# CPU step. So freed memory is kept, and huge pages are used if available. (This works with glibc
# 2.26 or later, huge pages with 2.35; other C libraries ignore the variable. mmap_max prevents
# separate mappings of blocks: before 2.35, glibc rejects a high mmap_threshold.)
KEEP_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in {"hugetlb": 1, "mmap_max": 0, "trim_threshold": 1 << 34}.items()
)

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # glibc's names in malloc.h


def tune_training(cpu: bool) -> None:
    """Make a training on a CPU keep freed memory from now on.

    For a process that was started without `settings`, as by fairseq-train. Huge pages cannot be
    requested this late. Settings by the user are kept.

    Args:
        cpu: whether it computes on the CPU even if there is a GPU.
    """
    import torch

    if not cpu and torch.cuda.is_available():
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and not _tuned():
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, -1)  # never


def settings(gpus: int, threads: int | None = None) -> dict[str, str]:
    """The variables to set. Allocator settings by the user are kept.

    Args:
        gpus: number of GPUs in use; 0 for the CPU.
        threads: CPU threads of the process; None keeps the current setting.
    """
    chosen = {} if gpus or _tuned() else {"GLIBC_TUNABLES": KEEP_MEMORY}
    return chosen if threads is None else {**chosen, "OMP_NUM_THREADS": str(threads)}


def _tuned() -> bool:
    return any(name.startswith(("GLIBC_TUNABLES", "MALLOC_")) for name in os.environ)


def cores() -> int:
    """The number of CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_each(count: int) -> int | None:
    """CPU threads for each of `count` processes that share the cores.

    None if the user has set `OMP_NUM_THREADS`, which the processes inherit.
    """
    return None if "OMP_NUM_THREADS" in os.environ else max(1, cores() // count)


def visible_gpu(index: int) -> str:
    """The index-th GPU among the visible ones, for `CUDA_VISIBLE_DEVICES`."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[index] if visible else str(index)


def announce(variables: dict[str, str]) -> None:
    """Print each variable on a separate line, above the commands that use them."""
    for name, value in variables.items():
        print(f"with {name}={value}", flush=True)
