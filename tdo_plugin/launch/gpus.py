"""How many GPUs torch can use, without the seconds that importing it takes.

``python -m tdo_plugin.launch.gpus`` prints it, for scripts.
"""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

# For each kind of GPU: what torch has in its folder if built for it, the library of the driver, and
# the driver's functions that start it and count. They respect CUDA_VISIBLE_DEVICES and its like.
KINDS = (
    ("libtorch_cuda.so", "libcuda.so.1", "cuInit", "cuDeviceGetCount"),
    ("libtorch_hip.so", "libamdhip64.so", "hipInit", "hipGetDeviceCount"),
)


def count_gpus() -> int:
    """GPUs of this machine, as ``torch.cuda.device_count()`` counts them."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return 0
    libraries = Path(spec.origin).parent / "lib"
    for built, name, start, count in KINDS:
        if not (libraries / built).exists():
            continue
        bundled = libraries / name  # torch for AMD brings its own
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
