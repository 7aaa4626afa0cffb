"""Environment variables of the processes that train and decode."""

from __future__ import annotations

import os

# A batch's logits are one block of some hundred megabytes. The C library fetches such a block from
# the system and gives it back each time, and the system clears every page of it anew: up to a
# fifth of a CPU step. So freed memory is kept, and large pages are used where there are any.
# (glibc 2.26 or later, large pages 2.35; other C libraries do not read the variable.)
KEEP_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in {"hugetlb": 1, "mmap_threshold": 1 << 32, "trim_threshold": 1 << 34}.items()
)


def settings(gpus: int, threads: int | None = None) -> dict[str, str]:
    """What to set; nothing that the user has set, except the number of threads.

    Args:
        gpus: how many are used; 0 is the CPU.
        threads: CPU threads of the process; None leaves it as it is.
    """
    wanted = {} if gpus else {"GLIBC_TUNABLES": KEEP_MEMORY}
    chosen = {name: value for name, value in wanted.items() if name not in os.environ}
    return chosen if threads is None else {**chosen, "OMP_NUM_THREADS": str(threads)}
