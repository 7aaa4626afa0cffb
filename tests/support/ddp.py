"""torch's own wrapper of distributed training, which fairseq chooses on GPUs only, on a CPU."""

import gc
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from torch import distributed

T = TypeVar("T")


def in_torch_s_wrapper(
    model: torch.nn.Module, work: Callable[[torch.nn.Module], T], meeting: Path, rank=0, workers=1
) -> T:
    """What ``work`` gives of a wrapped model, in a group of workers that meet in a file.

    The wrapper goes before the group does. As the last to hold it, it would wait for gloo's thread
    and keep Python's lock, for which that thread may wait.
    """
    from fairseq.distributed import ModuleProxyWrapper

    if workers > 1:  # forked: other threads of the test's process are not in this one
        torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=workers
    )
    try:
        return work(ModuleProxyWrapper(torch.nn.parallel.DistributedDataParallel(model)))
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)  # they hold it, too
        raise
    finally:
        gc.collect()
        distributed.destroy_process_group()
