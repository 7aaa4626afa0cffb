"""Continues a training from its last checkpoint: only if it is there, and not past the end.

``training_patches`` and ``recording`` install these functions in fairseq.
"""

import functools
import logging
import math
import os
import re
import sys
from typing import Any

from tdo_compat.checkpoint import WRONG, CheckpointError, instead_of, others
from tdo_compat.errors import STOCK_MISTAKES, lacks_memory
from tdo_compat.registry import overlay
from tdo_compat.shutdown import FIRST

ELSEWHERE = ("DistBackendError", "DistNetworkError", "DistStoreError", "AcceleratorError")
STOP = ("best", "num_runs")  # what fairseq's early stopping remembers

logger = logging.getLogger(__name__)


def check_folder(cfg: Any) -> None:
    """Refuse to begin a training in a folder where another one's last checkpoint is missing.

    fairseq would begin at update 0 and overwrite the checkpoints that are there.

    Args:
        cfg: fairseq's settings.

    Raises:
        CheckpointError: names the newest intact checkpoint, and how to go on from it.
    """
    saving = cfg.checkpoint
    suffix = getattr(saving, "checkpoint_suffix", None) or ""
    if saving.no_save or saving.restore_file != FIRST or getattr(saving, "continue_once", None):
        return
    last = os.path.join(saving.save_dir, f"checkpoint_last{suffix}.pt")
    if os.path.lexists(last) and not os.path.isfile(last):
        raise CheckpointError(f"`{last}` must be a file, to go on from; it is none")
    if not os.path.exists(last) and others(saving.save_dir, suffix):
        raise CheckpointError(
            f"`--save-dir` must be a new folder, or have a {os.path.basename(last)} to go on from; "
            f"{saving.save_dir} has only other checkpoints, which a new training would overwrite; "
            f"{instead_of(last)}"
        )


# --- the same optimizer --------------------------------------------------------------------------


def refuse_other_states(module: Any) -> None:
    """Make fairseq.trainer refuse a checkpoint whose training state does not fit the options.

    fairseq has an assertion for some cases, and a KeyError in the first update for others.
    """
    real = module.checkpoint_utils
    original, save = module.Trainer.load_checkpoint, module.Trainer.save_checkpoint
    loading: list[Any] = []

    def load_checkpoint_to_cpu(path: Any, *args: Any, **options: Any) -> Any:
        state = real.load_checkpoint_to_cpu(path, *args, **options)
        _check_same(state, path, *loading)
        return state

    @functools.wraps(original)
    def load_checkpoint(
        self: Any,
        filename: Any,
        reset_optimizer: bool = False,
        reset_lr_scheduler: bool = False,
        optimizer_overrides: Any = None,
        reset_meters: bool = False,
    ) -> Any:
        loading[:] = [self, reset_optimizer, reset_lr_scheduler]
        resets = (reset_optimizer, reset_lr_scheduler, optimizer_overrides, reset_meters)
        try:
            extra_state = original(self, filename, *resets)
        except WRONG as error:
            raise _unfit(error, filename) from error
        finally:
            loading.clear()
        if extra_state is not None and not reset_optimizer:
            _watch_first_step(self.optimizer, filename)
        # not with --finetune-from-model, which resets them
        self._resumed = extra_state is not None and not (reset_optimizer or reset_meters)
        return extra_state

    @functools.wraps(save)
    def save_checkpoint(self: Any, filename: Any, extra_state: Any) -> Any:
        command = sys.modules.get("fairseq_cli.train")
        stopping = vars(command.should_stop_early) if command else {}
        state = {name: stopping[name] for name in STOP if name in stopping}
        return save(self, filename, {**extra_state, **({"early_stop": state} if state else {})})

    module.checkpoint_utils = overlay(real, load_checkpoint_to_cpu=load_checkpoint_to_cpu)
    module.Trainer.load_checkpoint = load_checkpoint
    module.Trainer.save_checkpoint = save_checkpoint


def _check_same(
    state: Any, path: Any, trainer: Any, reset_optimizer: bool, reset_lr_scheduler: bool
) -> None:
    """Raise CheckpointError if criterion, optimizer or scheduler are not the checkpoint's."""
    if state.get("last_optimizer_state") is None or reset_optimizer:
        return
    parts = {"criterion": "optimizer", "optimizer": "optimizer"}
    if not reset_lr_scheduler:
        parts["lr_scheduler"] = "lr-scheduler"
    for part, reset in parts.items():
        before, now = (
            getattr(cfg.get(part) if cfg else None, "_name", None)
            for cfg in (state.get("cfg"), trainer.cfg)
        )
        if before and now and before != now:
            option = f"--{part.replace('_', '-')}"
            raise CheckpointError(
                f"`{option}` must be {before}, as in {path}, or `--reset-{reset}` be given; it is "
                f"{now}"
            )


def _unfit(error: Exception, filename: Any) -> Exception:
    """The error to raise if a checkpoint's training state caused one."""
    text = str(error)
    if getattr(type(error), "one_line", False) or lacks_memory(error):
        return error
    if type(error).__name__ in ELSEWHERE or re.search("CUDA|NCCL|[Gg]loo|Connection", text):
        return error
    if text.startswith(STOCK_MISTAKES):
        return error
    if text.startswith("Optimizer does not match"):
        before, _, now = text.rpartition(". ")[2].partition(" vs ")
        return CheckpointError(
            f"the precision (--fp16, --bf16, --memory-efficient-fp16) must be the one of "
            f"{filename}, whose optimizer is {before}, or `--reset-optimizer` be given; now it is "
            f"{now}"
        )
    reason = " ".join(f"{type(error).__name__}: {text}".split())
    return CheckpointError(
        f"the state of the training in {filename} must fit this training; using it gave {reason} "
        "(`--reset-optimizer` goes on with the parameters alone, if only the optimizer's is wrong)"
    )


def _watch_first_step(optimizer: Any, filename: Any) -> None:
    """Blame the checkpoint if the first update with its optimizer's state fails."""
    step = optimizer.step

    @functools.wraps(step)
    def first(*args: Any, **options: Any) -> Any:
        del optimizer.step  # from now on that of its class
        try:
            return step(*args, **options)
        except WRONG as error:
            raise _unfit(error, filename) from error

    optimizer.step = first


# --- not past the end ----------------------------------------------------------------------------


def end_when_finished(module: Any) -> None:
    """Make fairseq_cli.train end at once where a finished training is started again.

    fairseq would train one more update each time. `--patience` counts from where it was.
    """
    from fairseq.logging import metrics

    load, train = module.checkpoint_utils.load_checkpoint, module.train
    stopping = vars(module.should_stop_early)
    restored: list[dict[str, Any]] = []  # what was loaded, before the first epoch

    @functools.wraps(load)
    def load_checkpoint(cfg: Any, trainer: Any, **options: Any) -> Any:
        extra_state, epoch_itr = load(cfg, trainer, **options)
        resumed = extra_state if getattr(trainer, "_resumed", False) else None
        restored[:] = [resumed] if resumed else []
        for name in STOP:
            stopping.pop(name, None)  # of another training of this process
        stopping.update((resumed or {}).get("early_stop") or {})
        return extra_state, epoch_itr

    @functools.wraps(train)
    def train_unless_finished(cfg: Any, trainer: Any, task: Any, epoch_itr: Any) -> Any:
        before = restored.pop() if restored else None
        reason = _finished(cfg, trainer, stopping) if before else ""
        if not before or not reason:
            return train(cfg, trainer, task, epoch_itr)
        logger.info(f"the training is finished: {reason}")
        updates = trainer.get_num_updates()
        with metrics.aggregate("train"):
            metrics.log_scalar("num_updates", updates, weight=0)  # for the record of the run
        validates = updates >= cfg.dataset.validate_after_updates
        if cfg.dataset.disable_validation or not validates or before.get("val_loss") is not None:
            return [None], True
        # a signal ended it before its last validation; saving asks for the position
        epoch_itr.next_epoch_itr(shuffle=epoch_itr.next_epoch_idx > cfg.dataset.curriculum)
        subsets = cfg.dataset.valid_subset.split(",")
        return module.validate_and_save(cfg, trainer, task, epoch_itr, subsets, False)

    module.checkpoint_utils = overlay(module.checkpoint_utils, load_checkpoint=load_checkpoint)
    module.train = train_unless_finished


class MetricError(ValueError):
    """``--best-checkpoint-metric`` is not measured."""

    one_line = True


def with_known_metric(get_valid_stats: Any) -> Any:
    """Wrap fairseq's function that looks up the metric by which the best checkpoint is chosen."""

    @functools.wraps(get_valid_stats)
    def checked(cfg: Any, trainer: Any, stats: Any, *args: Any) -> Any:
        metric = cfg.checkpoint.best_checkpoint_metric
        if metric not in stats:
            raise MetricError(
                f"`--best-checkpoint-metric` must be one of {', '.join(sorted(stats))}; it is "
                f"{metric}"
            )
        return get_valid_stats(cfg, trainer, stats, *args)

    return checked


def _finished(cfg: Any, trainer: Any, stopping: Any) -> str:
    """The limit that a training has reached; empty if it can go on."""
    updates, most = trainer.get_num_updates(), cfg.optimization.max_update or math.inf
    if updates >= most:
        return f"num_updates {updates} has reached --max-update {most}"
    hours, limit = trainer.cumulative_training_time() / 3600, cfg.optimization.stop_time_hours
    if 0 < limit < hours:
        return f"{hours:.1f} hours have reached --stop-time-hours {limit}"
    runs, patience = stopping.get("num_runs", 0), cfg.checkpoint.patience
    if 0 < patience <= runs:
        return f"{runs} validations without an improvement have reached --patience {patience}"
    return ""
