"""What a training depends on beside its options: versions, the machine, the data."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from tdo_compat.digests import MARKS, digests
from tdo_plugin.data.databin import SHARD
from tdo_plugin.launch.environment import cores
from tdo_plugin.runtime.provenance import versions

SAMPLE = 1 << 16  # bytes at the begin, in the middle and at the end of a file
_FILES = ("*.bin", "*.idx", "dict.*")


def all_versions() -> dict[str, str]:
    """Those that results carry, and CUDA's where torch is built for it."""
    cuda = {"cuda": str(torch.version.cuda)} if torch.version.cuda else {}
    return {**versions(), **cuda}


def this_machine(workers: int) -> dict[str, Any]:
    """Host, process, processor, cores, GPUs, and how many workers train together."""
    gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    return {
        "host": platform.node(),
        "process": os.getpid(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": cores(),
        "gpus": gpus,
        "workers": workers,
    }


def _processor() -> str:
    """The processor's name; on Linux alone the kernel tells more than its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def data_identity(folders: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """By folder, one digest that changes with its contents; it costs next to nothing.

    A folder of `tdo prepare` or `tdo preprocess` has noted the digests of its files in a mark such
    as `prepared.json`, and the mark's own digest covers them. Of any other folder, the digest is
    made from names, sizes and samples of the binarised files and dictionaries: all of a small file,
    192 KiB of a large one. A change between the samples that keeps the size is not seen.
    """
    return {str(folder): _recorded(folder) or _sampled(folder) for folder in folders}


def _recorded(folder: Path) -> dict[str, Any]:
    """What the folder's mark says; {} without a mark, or of an old one."""
    root = folder.parent if SHARD.fullmatch(folder.name) else folder
    for mark in MARKS:
        noted = digests(str(root / mark))
        if mark in noted:
            return {"digest": noted[mark], "by": mark, "files": len(noted)}
    return {}


def _sampled(folder: Path) -> dict[str, Any]:
    files = sorted(path for pattern in _FILES for path in folder.glob(pattern))
    whole = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        whole.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as stream:
            for place in sorted({0, max(0, size // 2), max(0, size - SAMPLE)}):
                stream.seek(place)
                whole.update(stream.read(SAMPLE))
    total = sum(path.stat().st_size for path in files)
    return {"digest": whole.hexdigest(), "by": "samples", "files": len(files), "bytes": total}
