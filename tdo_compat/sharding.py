"""Fully sharded training in fairseq (``--ddp-backend fully_sharded``), without fairscale.

``training_patches`` installs these functions in fairseq.
"""

from __future__ import annotations

import functools
import os
from contextlib import nullcontext
from typing import Any

from tdo_compat.registry import overlay

BACKEND = "fully_sharded"
CRASH = "crash.pt"  # fairseq writes it in the one worker that failed


class CannotShard(ValueError):
    """A training that cannot be sharded. Shown as one line, without a traceback."""

    one_line = True


def is_sharded(cfg: Any) -> bool:
    """Whether a training with these settings is sharded; a single worker has nothing to share."""
    group = cfg.distributed_training
    return bool(group.ddp_backend == BACKEND and group.distributed_world_size > 1)


def build_model_whole(module: Any) -> None:
    """Make ``fairseq-train`` build the model as for other back-ends.

    Args:
        module: fairseq_cli.train, changed in place.
    """
    module.fsdp_enable_wrap = lambda cfg: nullcontext()
    module.fsdp_wrap = lambda model, **_: model


def wrap_models(module: Any) -> None:
    """Make fairseq's choice of a wrapper include the sharded one.

    Args:
        module: fairseq.models.distributed_fairseq_model, changed in place.
    """
    original = module.DistributedFairseqModel

    @functools.wraps(original)
    def wrapped(args: Any, model: Any, process_group: Any, device: Any) -> Any:
        if args.ddp_backend != BACKEND:
            return original(args, model, process_group, device)
        if not hasattr(model, "sharded_units"):
            raise CannotShard(
                f"`--ddp-backend` must be legacy_ddp for a {type(model).__name__}, which does not "
                f"name its parts to gather one by one; it is {BACKEND}"
            )
        from tdo_compat.sharded_model import ShardedModel

        return ShardedModel(model, process_group, device, args.no_reshard_after_forward)

    module.DistributedFairseqModel = wrapped


def train_sharded(module: Any) -> None:
    """Make fairseq's trainer handle a sharded model, instead of its own for fairscale.

    Args:
        module: fairseq.trainer, changed in place.
    """
    trainer = module.Trainer
    build, clip, save = trainer._build_optimizer, trainer.clip_grad_norm, trainer.save_checkpoint

    @functools.wraps(build)
    def build_optimizer(self: Any) -> None:
        build(self)
        if is_sharded(self.cfg):
            _keep_files_whole(self._optimizer, self.model, self.cfg)

    @functools.wraps(clip)
    def clip_grad_norm(self: Any, clip_norm: float) -> Any:
        if not is_sharded(self.cfg):
            return clip(self, clip_norm)
        return self.optimizer.clip_grad_norm(clip_norm, aggregate_norm_fn=self.model.whole_norm)

    @functools.wraps(save)
    def save_checkpoint(self: Any, filename: str, extra_state: Any) -> None:
        # a worker that failed cannot gather the model
        if not (is_sharded(self.cfg) and os.path.basename(filename) == CRASH):
            save(self, filename, extra_state)

    trainer.is_fsdp = False  # fairscale's
    trainer.always_call_state_dict_during_save_checkpoint = property(
        lambda self: is_sharded(self.cfg)
    )
    trainer._build_optimizer, trainer.clip_grad_norm = build_optimizer, clip_grad_norm
    trainer.save_checkpoint = save_checkpoint
    module.optim = overlay(module.optim, FP16Optimizer=_half_optimizer(module.optim))


def _half_optimizer(optim: Any) -> Any:
    """``FP16Optimizer``; in sharded training it scales losses, and shards are its master weights.

    Args:
        optim: fairseq.optim.
    """
    original = optim.FP16Optimizer

    class FP16Optimizer(optim.MemoryEfficientFP16Optimizer):  # type: ignore[misc]
        # checkpoints record the name of the class

        @classmethod
        def build_optimizer(cls, cfg: Any, params: Any, **options: Any) -> Any:
            if not is_sharded(cfg):
                return original.build_optimizer(cfg, params, **options)
            return super().build_optimizer(cfg, params, allow_unsupported=True)

    return FP16Optimizer


def _keep_files_whole(optimizer: Any, model: Any, cfg: Any) -> None:
    """Make an optimizer of shards write and read the state that it would have without sharding.

    Args:
        optimizer: fairseq's, changed in place.
        model: its ShardedModel.
        cfg: the training's settings.

    Raises:
        CannotShard: the optimizer does not treat each number by itself.
    """
    from tdo_compat.sharded_model import joined_state

    if not optimizer.supports_flat_params:
        raise CannotShard(
            f"`--optimizer` must be one that treats each number by itself, such as adam, with "
            f"`--ddp-backend {BACKEND}`; it is {cfg.optimizer._name}"
        )
    state_dict, load_state_dict = optimizer.state_dict, optimizer.load_state_dict
    is_flat = cfg.common.fp16 and not cfg.common.fp16_no_flatten_grads

    def whole_state_dict() -> dict[str, Any]:
        state: dict[str, Any] = model.whole_state(state_dict(), optimizer)
        return joined_state(state) if is_flat else state

    def load_own_state_dict(state: dict[str, Any], overrides: Any = None) -> None:
        load_state_dict(model.own_state(state, optimizer), overrides)

    optimizer.state_dict, optimizer.load_state_dict = whole_state_dict, load_own_state_dict
