"""Ends a training early: at a signal, or out of memory.

``training_patches`` installs these functions in fairseq's trainer.
"""

import atexit
import contextlib
import functools
import os
import signal
import weakref
from typing import Any

import torch

from tdo_compat.errors import lacks_memory, tell

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
ENDED = 128 + signal.SIGTERM  # the exit code for any of the signals
FIRST = "checkpoint_last.pt"  # fairseq's default --restore-file


def going_on(cfg: Any, suffix: str = "") -> str:
    """How to resume an ended training: a clause for the end of a message."""
    name = os.path.join(cfg.checkpoint.save_dir, f"checkpoint_last{suffix}.pt")
    if not os.path.exists(name):
        return f"there is no {name} to resume from"
    flags = {"--restore-file": cfg.checkpoint.restore_file != FIRST}
    for what in ("optimizer", "lr-scheduler", "meters", "dataloader"):
        flags[f"--reset-{what}"] = getattr(cfg.checkpoint, f"reset_{what.replace('-', '_')}")
    left_out = ", ".join(f"`{option}`" for option, is_set in flags.items() if is_set)
    return f"the same command{left_out and f' without {left_out}'} resumes from {name}"


def _who(trainer: Any) -> str:
    workers = trainer.data_parallel_world_size
    if workers == 1:
        return "this training"
    return f"the worker of rank {trainer.data_parallel_rank} of {workers}"


# --- at a signal -------------------------------------------------------------------------------


def end_when_told(trainer: Any) -> None:
    """Make SIGTERM and SIGUSR1 end a training after an update, with a checkpoint and code ENDED.

    One worker's signal is enough. The number of signals is part of the sums that workers exchange
    in each update anyway, so that all of them end after the same update, without further messages.

    Args:
        trainer: fairseq's class, changed in place.
    """
    get_train_iterator = trainer.get_train_iterator
    train_step, valid_step = trainer.train_step, trainer.valid_step
    aggregate, training_time = trainer._aggregate_logging_outputs, trainer.cumulative_training_time

    @functools.wraps(get_train_iterator)
    def listening(self: Any, *args: Any, **options: Any) -> Any:
        # before this there is nothing to save
        self._train_iterator = get_train_iterator(self, *args, **options)
        if "_told" not in vars(self):
            self._told, self._saved_last = _listen(self), False
        return self._train_iterator

    @functools.wraps(aggregate)
    def with_signals(self: Any, logs: Any, *sums: Any, ignore: bool = False) -> Any:
        logs, (*sums, signal_count) = aggregate(self, logs, *sums, len(self._told), ignore=ignore)
        self._agreed = signal_count
        return logs, sums

    def step(original: Any) -> Any:
        @functools.wraps(original)
        def noting(self: Any, *args: Any, **options: Any) -> Any:
            self._agreed = 0
            result = original(self, *args, **options)
            if self.data_parallel_world_size == 1:
                self._agreed = len(self._told)
            return result

        return noting

    @functools.wraps(valid_step)
    def in_validation(self: Any, *args: Any, **options: Any) -> Any:
        result = noted_valid_step(self, *args, **options)
        _end_if_agreed(self)
        return result

    @functools.wraps(training_time)
    def after_update(self: Any) -> Any:
        # fairseq's loop calls this after an update is logged, before it validates and saves
        _end_if_agreed(self)
        return training_time(self)

    noted_valid_step = step(valid_step)
    trainer._told = ()  # for a trainer that gets its batches without an iterator
    trainer._agreed = 0
    trainer.get_train_iterator = listening
    trainer.train_step, trainer.valid_step = step(train_step), in_validation
    trainer._aggregate_logging_outputs = with_signals
    trainer.cumulative_training_time = after_update


def _listen(trainer: Any) -> list[int]:
    """The signals received from now on, for as long as the trainer exists."""
    signals: list[int] = []
    try:
        before: dict[int, Any] = {
            number: signal.signal(number, lambda number, _: signals.append(number))
            for number in SIGNALS
        }
    except ValueError:  # not the main thread, which handles signals
        return signals
    trainer._restoring = weakref.finalize(trainer, _restore, before)
    trainer._restoring.atexit = False
    return signals


def _restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        with contextlib.suppress(ValueError):  # garbage collection may run in another thread
            signal.signal(number, handler)


def _end_if_agreed(trainer: Any) -> None:
    cfg = trainer.cfg
    updates = trainer.get_num_updates()
    last = updates >= (cfg.optimization.max_update or float("inf"))
    if not trainer._agreed or (last and trainer._saved_last):
        return
    trainer._agreed = 0  # since saving also calls for the training time
    from fairseq import checkpoint_utils

    checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, trainer._train_iterator, None)
    if last:  # fairseq ends the training itself, if it has the time to validate
        trainer._saved_last = True
        _keep_exit_code(trainer)
        return
    if trainer.data_parallel_world_size > 1:
        # a worker that ends takes the others with it, including the one that writes
        torch.distributed.barrier(trainer.data_parallel_process_group)
    if trainer.is_data_parallel_master:
        unsaved = cfg.checkpoint.no_save or cfg.checkpoint.no_last_checkpoints
        how = going_on(cfg, trainer.checkpoint_suffix)
        how = "nothing was saved, as the options require" if unsaved else how
        tell(f"ended by a signal after update {updates}: {how}")
    _keep_exit_code(trainer)
    raise SystemExit(ENDED)


def _keep_exit_code(trainer: Any) -> None:
    """torchrun may signal its worker again while Python exits and has removed its handlers."""
    if torch.distributed.is_torchelastic_launched() and hasattr(trainer, "_restoring"):
        trainer._restoring.detach()
        atexit.register(_restore, dict.fromkeys(SIGNALS, signal.SIG_IGN))


# --- out of memory -----------------------------------------------------------------------------


class OutOfMemory(Exception):
    """A batch was too large for memory. Shown as one line, without a traceback."""

    one_line = True


def end_without_memory(trainer: Any) -> None:
    """Make a batch that does not fit into memory end the training, and report its shape.

    fairseq would skip the batch; with several workers the others would wait forever.

    Args:
        trainer: fairseq's class, changed in place.
    """
    prepare, train_step, valid_step = (
        trainer._prepare_sample,
        trainer.train_step,
        trainer.valid_step,
    )

    @functools.wraps(prepare)
    def noting(self: Any, sample: Any, *args: Any, **options: Any) -> Any:
        self._batch = _shape(sample) or getattr(self, "_batch", "unknown shape")
        return prepare(self, sample, *args, **options)

    @functools.wraps(train_step)
    def train(self: Any, samples: Any, raise_oom: bool = True) -> Any:
        # regardless of raise_oom: without raising, the batch would be skipped
        try:
            return train_step(self, samples, raise_oom=True)
        except RuntimeError as error:
            if not lacks_memory(error):
                raise
            update = f"update {self.get_num_updates() + 1}"
            raise OutOfMemory(_sentence(self, update, _smaller(self.cfg))) from error

    @functools.wraps(valid_step)
    def validate(self: Any, sample: Any, raise_oom: bool = False) -> Any:
        try:
            return valid_step(self, sample, raise_oom=raise_oom)
        except RuntimeError as error:
            if not lacks_memory(error):
                raise
            raise OutOfMemory(_sentence(self, "validation", _smaller_valid(self.cfg))) from error

    trainer._prepare_sample, trainer.train_step, trainer.valid_step = noting, train, validate
    trainer._log_oom = lambda self, error: None  # prints pages of tables


def _shape(sample: Any) -> str | None:
    """The size of a batch; None for a dummy, or if the batch does not consist of tokens."""
    if not isinstance(sample, dict):
        return None
    inputs = sample.get("net_input")
    sides = {
        "source": inputs.get("src_tokens") if isinstance(inputs, dict) else None,
        "target": sample.get("target"),
    }
    lengths = {
        side: tokens.shape
        for side, tokens in sides.items()
        if isinstance(tokens, torch.Tensor) and tokens.dim() == 2
    }
    if not lengths:
        return None
    sentences = next(iter(lengths.values()))[0]
    each = [f"{length} {side} tokens" for side, (_, length) in lengths.items()]
    return " x ".join([f"{sentences} sentences", *each])


def _smaller(cfg: Any) -> str:
    """Flags for batches of half the size and updates of the same size."""
    sizes = {"--max-tokens": cfg.dataset.max_tokens, "--batch-size": cfg.dataset.batch_size}
    now = [f"{flag} {size}" for flag, size in sizes.items() if size]
    half = [f"{flag} {max(1, size // 2)}" for flag, size in sizes.items() if size]
    freqs = cfg.optimization.update_freq
    now.append(f"--update-freq {','.join(map(str, freqs))}")
    half.append(f"--update-freq {','.join(str(2 * freq) for freq in freqs)}")
    common = cfg.common
    whole = not (common.cpu or common.fp16 or common.bf16 or common.amp)
    return (
        f"`{' '.join(half)}` instead of `{' '.join(now)}` halves batches and keeps updates"
        + whole * ", `--fp16` or `--bf16` makes them smaller"
    )


def _smaller_valid(cfg: Any) -> str:
    sizes = {
        "--max-tokens-valid": cfg.dataset.max_tokens_valid,
        "--batch-size-valid": cfg.dataset.batch_size_valid,
    }
    half = [f"{flag} {max(1, size // 2)}" for flag, size in sizes.items() if size]
    return f"`{' '.join(half)}` halves batches of validation"


def _sentence(trainer: Any, when: str, advice: str) -> str:
    return (
        f"{_who(trainer)} ran out of memory in {when}, at a batch of {trainer._batch}; {advice}; "
        + going_on(trainer.cfg, trainer.checkpoint_suffix)
    )
