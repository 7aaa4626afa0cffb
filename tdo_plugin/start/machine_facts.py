"""What a machine has, and how fast it is assumed to train."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tdo_plugin.errors import UserError
from tdo_plugin.launch.environment import cores
from tdo_plugin.launch.gpus import count_gpus

GIB = 2**30
# Assumed, in FLOP/s that a training reaches. A core: Multi30k's trainings of 1,500 updates and 86
# GFLOP each took 35 to 45 minutes on a core of an Intel Xeon at 2.5 GHz
# (docs/reproduce/two-stage.md#multi30k). A GPU: a tenth of an A100's peak in half precision, since
# small models do not fill one; nothing here measures it.
CORE_SPEED = 50e9
GPU_SPEED = 30e12


@dataclass(frozen=True)
class MachineFacts:
    """What trainings may use.

    Attributes:
        gpus: 0 for the CPU.
        memory: GiB of each GPU, or of the machine.
        cores: of the CPU.
        half: number format on a GPU.
        together: systems that train at a time.
    """

    gpus: int
    memory: float
    cores: int
    half: str = "fp32"
    together: int = 1

    @property
    def speed(self) -> float:
        """FLOP/s of one training."""
        return GPU_SPEED * self.gpus if self.gpus else CORE_SPEED * self.cores / self.together

    def __str__(self) -> str:
        if self.gpus:
            return f"{self.gpus} GPU(s) with {self.memory:.0f} GiB each"
        return f"{self.cores} CPU core(s), {self.memory:.0f} GiB of memory, no GPU"


def machine_facts(gpus: int) -> MachineFacts:
    """This machine.

    Args:
        gpus: that trainings may use; 0 for the CPU, on which two systems train side by side.

    Raises:
        UserError: the machine has fewer GPUs.
    """
    if gpus > (here := count_gpus()):
        raise UserError(f"`--gpus` must be at most {here}, the GPUs of this machine; it is {gpus}")
    if gpus:
        import torch

        gpu = torch.cuda.get_device_properties(0)
        half = "bf16" if gpu.major >= 8 else "fp16"  # older ones only emulate bf16
        # `tdo reproduce` gives each of the two systems a GPU of its own
        return MachineFacts(1, gpu.total_memory / GIB, cores(), half)
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return MachineFacts(0, pages * size / GIB, cores(), together=min(2, cores()))
