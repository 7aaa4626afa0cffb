"""Trainings of several workers, forked from this process, which communicate through gloo."""

import gc
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import torch
from support.data import kept_logging, train
from support.trainings import last_state
from torch import distributed

from tdo_compat.registry import overlay
from tdo_plugin.runtime.jobs import run_jobs

T = TypeVar("T")
SHARDED = ("--ddp-backend", "fully_sharded")
WHOLE = ("--ddp-backend", "legacy_ddp")


def assert_same_states(first: Path, second: Path, **tolerance: float) -> None:
    """Two trainings have the same files: weights, the optimizer's state, and everything's names."""
    one, two = last_state(first), last_state(second)
    assert list(one) == list(two) and list(one["model"]) == list(two["model"])
    assert (
        one["optimizer_history"][-1]["optimizer_name"]
        == (two["optimizer_history"][-1]["optimizer_name"])
    )
    torch.testing.assert_close(one["model"], two["model"], **tolerance)
    left, right = one["last_optimizer_state"], two["last_optimizer_state"]
    assert left["param_groups"] == right["param_groups"]
    torch.testing.assert_close(left["state"], right["state"], **tolerance)


def in_torch_s_wrapper(
    model: torch.nn.Module, work: Callable[[torch.nn.Module], T], meeting: Path, rank=0, workers=1
) -> T:
    """What ``work`` gives of a model in torch's own wrapper, which fairseq takes on GPUs only.

    Its group of workers meets in a file. The wrapper goes before the group does: as the last to
    hold that, it would wait for gloo's thread and keep Python's lock, for which that may wait.
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


def trained(
    count: int, folder: Path, *flags: str, double: bool = True, seen: Callable[[Any], Any] = bool
) -> list[dict[str, Any]]:
    """What each worker of a training, in double precision or not, returns.

    One worker trains in a process of its own, too. For each these are ``losses`` of its batches,
    gradient norms ``gnorm`` of its updates, and ``seen``: what that function makes of the trainer
    after each update.
    """
    folder.mkdir(exist_ok=True)
    meeting = folder / "meeting"
    meeting.unlink(missing_ok=True)

    def work(rank: int) -> dict[str, Any]:
        from fairseq import utils
        from fairseq.trainer import Trainer

        from tdo_plugin.tasks.tdo_translation import TdoTranslationTask as Task

        torch.set_num_threads(1)  # other threads of the test's process are not in this one
        norms, results = [], []
        precision = torch.float64 if double else torch.float32
        build, clip, step = Task.build_model, Trainer.clip_grad_norm, Trainer.train_step

        def build_model(self, *args, **options):
            model = build(self, *args, **options)
            return model.double() if double else model

        def clip_grad_norm(self, *args):
            norms.append(float(norm := clip(self, *args)))
            return norm

        def train_step(self, *args, **options):
            done = step(self, *args, **options)
            results.append(seen(self))
            return done

        several = ["--distributed-world-size", str(count), "--distributed-rank", str(rank)]
        several += ["--distributed-backend", "gloo"]
        if count > 1:
            distributed.init_process_group(
                "gloo", init_method=f"file://{meeting}", rank=rank, world_size=count
            )
        with (
            kept_logging(),
            mock.patch.object(Task, "build_model", build_model),
            mock.patch.object(Trainer, "clip_grad_norm", clip_grad_norm),
            mock.patch.object(Trainer, "train_step", train_step),
            # whose norms are in single precision
            mock.patch.object(utils, "torch", overlay(torch, float32=precision)),
        ):
            logs = train(folder, *flags, *(several if count > 1 else ()))
        return {"losses": [log["loss"] for log in logs], "gnorm": norms, "seen": results}

    jobs = [(rank, lambda rank=rank: work(rank)) for rank in range(count)]
    return [result for _, result in sorted(run_jobs(jobs, count))]
