"""The number of GPUs that torch can use, without the slow import of torch.

``python -m tdo_plugin.launch.gpus`` prints the number, for scripts.
"""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

# For each kind of GPU: a library of torch if built for it, the driver's library, and the driver's
# functions to initialise it and count GPUs. They respect CUDA_VISIBLE_DEVICES and the like.
KINDS = (
    ("libtorch_cuda.so", "libcuda.so.1", "cuInit", "cuDeviceGetCount"),
    ("libtorch_hip.so", "libamdhip64.so", "hipInit", "hipGetDeviceCount"),
)


def count_gpus() -> int:
    """The number of GPUs on this machine, as ``torch.cuda.device_count()`` counts them."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return 0
    libraries = Path(spec.origin).parent / "lib"
    for built, name, start, count in KINDS:
        if not (libraries / built).exists():
            continue
        bundled = libraries / name  # torch for AMD bundles its driver library
        try:
            driver = ctypes.CDLL(str(bundled) if bundled.exists() else name)
        except OSError:  # no driver is installed
            continue
        total = ctypes.c_int(0)
        if getattr(driver, start)(0) == 0 and getattr(driver, count)(ctypes.byref(total)) == 0:
            return total.value
    return 0


if __name__ == "__main__":
    print(count_gpus())
