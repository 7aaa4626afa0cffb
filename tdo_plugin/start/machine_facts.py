"""Hardware of the machine and its assumed training speed."""

from __future__ import annotations

from dataclasses import dataclass

from tdo_plugin.errors import UserError
from tdo_plugin.launch.environment import cores
from tdo_plugin.launch.gpus import count_gpus
from tdo_plugin.runtime.memory import GIB, machine_memory

# Assumed training throughput in FLOP/s. CPU core: Multi30k training of 1,500 updates at 86 GFLOP
# each took 35 to 45 minutes on one core of an Intel Xeon at 2.5 GHz
# (docs/reproduce/two-stage.md#multi30k). GPU: a tenth of an A100's peak in half precision,
# since small models do not saturate a GPU (not measured).
CORE_SPEED = 50e9
GPU_SPEED = 30e12


@dataclass(frozen=True)
class MachineFacts:
    """Hardware available for training.

    Attributes:
        gpus: number of GPUs; 0 for training on the CPU.
        memory: memory in GiB of each GPU, or of the machine (or container) without a GPU.
        cores: number of CPU cores.
        half: half-precision format on a GPU: bf16 or fp16.
        together: number of systems trained at the same time.
    """

    gpus: int
    memory: float
    cores: int
    half: str = "fp32"
    together: int = 1

    @property
    def speed(self) -> float:
        """Assumed FLOP/s of one training run."""
        return GPU_SPEED * self.gpus if self.gpus else CORE_SPEED * self.cores / self.together

    def __str__(self) -> str:
        if self.gpus:
            return f"{self.gpus} GPU(s) with {self.memory:.0f} GiB each"
        return f"{self.cores} CPU core(s), {self.memory:.0f} GiB of memory, no GPU"


def machine_facts(gpus: int) -> MachineFacts:
    """Return the facts of this machine.

    Args:
        gpus: number of GPUs to use; 0 for the CPU, where two systems train in parallel.

    Raises:
        UserError: the machine has fewer GPUs.
    """
    if gpus > (here := count_gpus()):
        raise UserError(f"`--gpus` must be at most {here}, the GPUs of this machine; it is {gpus}")
    if gpus:
        import torch

        gpu = torch.cuda.get_device_properties(0)
        half = "bf16" if gpu.major >= 8 else "fp16"  # older GPUs only emulate bf16
        # `tdo reproduce` trains each of the two systems on its own GPU
        return MachineFacts(1, gpu.total_memory / GIB, cores(), half)
    return MachineFacts(0, machine_memory() / GIB, cores(), together=min(2, cores()))
