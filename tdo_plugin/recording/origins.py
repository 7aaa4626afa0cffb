"""Provenance of a training run besides its options: versions, machine, data."""

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

SAMPLE = 1 << 16  # bytes read at the start, in the middle and at the end of a file
_FILES = ("*.bin", "*.idx", "dict.*")


def all_versions() -> dict[str, str]:
    """Return the versions recorded with results, plus CUDA's if torch is built with CUDA."""
    cuda = {"cuda": str(torch.version.cuda)} if torch.version.cuda else {}
    return {**versions(), **cuda}


def this_machine(workers: int) -> dict[str, Any]:
    """Return host, process id, processor, cores, GPUs and number of workers."""
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
    """Return the processor's model name on Linux, elsewhere what `platform` knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def data_identity(folders: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return a cheap digest of each folder's contents.

    `tdo prepare` and `tdo preprocess` record the digests of all files in a marker file such as
    `prepared.json`; the digest of the marker covers them. For any other folder, the digest is
    computed from names, sizes and samples of the binarised files and dictionaries: the whole of a
    small file, 192 KiB of a large file. A change outside the samples that keeps the file size is
    not detected.
    """
    return {str(folder): _recorded(folder) or _sampled(folder) for folder in folders}


def _recorded(folder: Path) -> dict[str, Any]:
    """Return the content of the folder's marker file; {} if it is missing or of an old version."""
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
