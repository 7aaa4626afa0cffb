"""Patches of training: resuming, ending, distributed workers, and precision."""

from __future__ import annotations

from tdo_compat.registry import TORCHRUN, overlay, patch

TYPE_CHECKING = False  # typing's constant, without importing typing at each start of Python
if TYPE_CHECKING:
    from typing import Any


@patch(
    "restored-task",
    "the task cannot compare its dictionary with the checkpoint's when a training resumes",
    "fairseq.trainer",
)
def _restore_task(module: Any) -> None:
    real = module.checkpoint_utils
    loaded: list[dict[str, Any]] = []
    original = module.Trainer.load_checkpoint

    def load_checkpoint_to_cpu(*args: Any, **kwargs: Any) -> Any:
        state = real.load_checkpoint_to_cpu(*args, **kwargs)
        loaded[:] = [state.get("task_state") or {}]
        return state

    def load_checkpoint(
        self: Any, filename: Any, reset_optimizer: bool = False, *args: Any, **kwargs: Any
    ) -> Any:
        loaded.clear()
        extra_state = original(self, filename, reset_optimizer, *args, **kwargs)
        if extra_state is not None and self.data_parallel_world_size > 1:
            # only the first worker has read the file
            loaded[:] = module.distributed_utils.broadcast_object(
                loaded,
                src_rank=0,
                group=self.data_parallel_process_group,
                dist_device=self.device,
            )
        if loaded and self.task is not None:
            self.task.resets_optimizer = reset_optimizer
            self.task.load_state_dict(loaded[0])
        return extra_state

    module.checkpoint_utils = overlay(real, load_checkpoint_to_cpu=load_checkpoint_to_cpu)
    module.Trainer.load_checkpoint = load_checkpoint


@patch(
    "fitting-states",
    "another criterion, optimizer or scheduler than the checkpoint's causes a traceback",
    "fairseq.trainer",
)
def _refuse_other_states(module: Any) -> None:
    from tdo_compat.resuming import refuse_other_states

    refuse_other_states(module)


@patch(
    "finished-trainings",
    "a finished training makes another update each time, and --patience counts from 0 each time",
    "fairseq_cli.train",
)
def _end_when_finished(module: Any) -> None:
    from tdo_compat.resuming import end_when_finished

    end_when_finished(module)


@patch(
    "known-metric",
    "a --best-checkpoint-metric that is not measured causes a KeyError at the first validation",
    "fairseq_cli.train",
)
def _known_metric(module: Any) -> None:
    from tdo_compat.resuming import with_known_metric

    module.get_valid_stats = with_known_metric(module.get_valid_stats)


@patch(
    "position-of-workers",
    "a training that resumes with another number of workers repeats or omits sentences",
    "fairseq.trainer",
)
def _same_position(module: Any) -> None:
    from tdo_compat.distributed import at_same_position

    real = module.checkpoint_utils

    def load_checkpoint_to_cpu(*args: Any, **kwargs: Any) -> Any:
        return at_same_position(real.load_checkpoint_to_cpu(*args, **kwargs))

    module.checkpoint_utils = overlay(real, load_checkpoint_to_cpu=load_checkpoint_to_cpu)


@patch(
    "ends-when-told",
    "SIGTERM ends a training immediately, without a checkpoint",
    "fairseq.trainer",
)
def _end_when_told(module: Any) -> None:
    from tdo_compat.shutdown import end_when_told

    end_when_told(module.Trainer)


@patch(
    "loading-goes-on",
    "a signal to all processes ends those that load data, and so the training before it saves",
    "fairseq.data.iterators",
    since="every torch",
)
def _loading_goes_on(module: Any) -> None:
    from tdo_compat.loading import obedient_loader

    torch, data = module.torch, module.torch.utils.data
    data = overlay(data, DataLoader=obedient_loader(data.DataLoader))
    module.torch = overlay(torch, utils=overlay(torch.utils, data=data))


@patch(
    "loading-ends",
    "each validation with --max-valid-steps leaves processes that load data, with a copy of the "
    "trainer's memory",
    "fairseq.data.iterators",
)
def _loading_ends(module: Any) -> None:
    from tdo_compat.loading import end_with_reader

    end_with_reader(module)


@patch(
    "out-of-memory",
    "a batch that is too large is skipped, or all workers but one wait forever",
    "fairseq.trainer",
)
def _end_without_memory(module: Any) -> None:
    from tdo_compat.shutdown import end_without_memory

    end_without_memory(module.Trainer)


@patch(
    "named-overflow",
    "a training whose gradients overflow does not say in which layer",
    "fairseq.trainer",
)
def _name_layers(module: Any) -> None:
    from tdo_compat.overflow import name_layers

    name_layers(module)


@patch(
    "workers-end-together",
    "when one worker fails, the others may wait forever",
    "fairseq.distributed.utils",
)
def _end_together(module: Any) -> None:
    from tdo_compat.distributed import end_together

    end_together(module)


@patch(
    "signals-handed-on",
    "a signal to a fairseq-train that spawned its workers ends all of them without a checkpoint",
    "fairseq.distributed.utils",
)
def _hand_signals_on(module: Any) -> None:
    from tdo_compat.distributed import handing_signals_on

    torch = module.torch
    spawn = handing_signals_on(torch.multiprocessing.spawn)
    module.torch = overlay(torch, multiprocessing=overlay(torch.multiprocessing, spawn=spawn))


@patch(
    "torchrun-ending",
    "torchrun adds a traceback to a worker's single line, hides that a signal ended a training, "
    "and gives it 30 seconds",
    TORCHRUN,
    since="every torch",
)
def _end_like_workers(module: Any) -> None:
    from tdo_compat.distributed import end_like_workers

    end_like_workers(module)


@patch(
    "sharded-training",
    "--ddp-backend fully_sharded needs fairscale, which is no longer maintained",
    "fairseq.trainer",
    "fairseq.models.distributed_fairseq_model",
    "fairseq_cli.train",
)
def _shard(module: Any) -> None:
    from tdo_compat import sharding

    changes = {
        "fairseq.trainer": sharding.train_sharded,
        "fairseq.models.distributed_fairseq_model": sharding.wrap_models,
        "fairseq_cli.train": sharding.build_model_whole,
    }
    changes[module.__name__](module)


@patch(
    "records-trainings",
    "a training stores no log, settings or versions with its checkpoints",
    "fairseq.distributed.utils",
)
def _record_trainings(module: Any) -> None:
    from tdo_compat.recording import recording

    module.call_main = recording(module.call_main)


@patch(
    "watched-progress",
    "a training can log only to the trackers that fairseq supports",
    "fairseq.logging.progress_bar",
)
def _watch_progress(module: Any) -> None:
    from tdo_compat.recording import watched

    module.progress_bar = watched(module.progress_bar)


@patch(
    "one-wandb-run",
    "each epoch and each validation starts another wandb run",
    "fairseq.logging.progress_bar",
    since="wandb 0.31",
    needed=lambda: __import__("importlib.util").util.find_spec("wandb") is not None,
)
def _one_wandb_run(module: Any) -> None:
    from tdo_compat.recording import one_run

    if module.wandb is not None:  # it may be installed but fail to import
        module.wandb = overlay(module.wandb, init=one_run(module.wandb))


@patch(
    "numbers-of-one-kind",
    "a checkpoint's parameters that are whole numbers are taken for real ones",
    "fairseq.models.fairseq_model",
)
def _numbers_of_one_kind(module: Any) -> None:
    from tdo_compat.checkpoint_form import check_kinds

    model = module.BaseFairseqModel
    original = model.load_state_dict

    def load_state_dict(self: Any, state_dict: Any, *args: Any, **options: Any) -> Any:
        check_kinds(self, state_dict)
        return original(self, state_dict, *args, **options)

    model.load_state_dict = load_state_dict


@patch(
    "bf16-inference",
    "fairseq-generate and fairseq-interactive ignore --bf16",
    "fairseq.models.fairseq_model",
)
def _bf16_inference(module: Any) -> None:
    model = module.BaseFairseqModel
    original = model.prepare_for_inference_

    def prepare_for_inference_(self: Any, cfg: Any) -> None:
        original(self, cfg)
        if getattr(cfg.common, "bf16", False):
            self.bfloat16()

    model.prepare_for_inference_ = prepare_for_inference_
