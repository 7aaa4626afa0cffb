"""The hardware of the measurements."""

from __future__ import annotations

import platform
import re
from argparse import Namespace
from importlib import metadata
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.launch.environment import cores
from tdo_plugin.launch.handed_on_options import gpus_here

# Nominal dense peak in TFLOPS for matrix products in half precision with single-precision
# accumulation, then in single precision without TF32, from data sheets. The first match is used.
PEAKS = (
    (r"\bV100\b", 125.0, 15.7),
    (r"\bA100\b", 312.0, 19.5),
    (r"\bH100 PCIe\b", 756.0, 51.0),
    (r"\bH100 NVL\b", 835.0, 60.0),
    (r"\bH[12]00\b", 989.0, 67.0),
    (r"\bA6000\b", 154.8, 38.7),
    (r"\bL4\b", 121.0, 30.3),
    (r"\bRTX 4090\b", 165.2, 82.6),
)


def device(requested: str | None) -> str:
    """`cpu` or `cuda`: the requested device, else a GPU if available.

    Raises:
        UserError: a GPU is requested but not available.
    """
    if requested == "cpu":
        return "cpu"
    has_gpu = bool(gpus_here(Namespace(cpu=False, gpus=None)))
    if requested == "cuda" and not has_gpu:
        raise UserError("`--device` must be cpu if torch finds no GPU; it is cuda")
    return "cuda" if has_gpu else "cpu"


def precision(device: str, requested: str | None) -> str:
    """The number format: the requested one, else fp32 on a CPU, and bf16 or fp16 on a GPU.

    Raises:
        UserError: a format other than fp32 is requested on a CPU.
    """
    if device == "cpu":
        if requested not in (None, "fp32"):
            raise UserError(f"`--precision` must be fp32 on a CPU; it is {requested}")
        return "fp32"
    import torch

    return requested or ("bf16" if torch.cuda.get_device_capability() >= (8, 0) else "fp16")


def name(device: str) -> str:
    """The name of the CPU or GPU."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    info = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M) if info.exists() else None
    return match[1] if match else platform.processor() or platform.machine()


def facts(device: str, precision: str) -> dict[str, object]:
    """Facts about the machine for reports."""
    return {
        "device": device,
        "hardware": name(device),
        "cores": cores(),
        "precision": precision,
        "torch": metadata.version("torch"),
    }


def peak(name: str, precision: str) -> float | None:
    """Nominal operations per second of a GPU; None if unknown."""
    for pattern, half, single in PEAKS:
        if re.search(pattern, name) and not (precision == "bf16" and "V100" in name):
            return 1e12 * (single if precision == "fp32" else half)
    return None
