"""Checks that model and criterion fit a task of this package."""

from __future__ import annotations

import inspect
import logging
import os
from argparse import Namespace
from collections.abc import Container
from typing import Any

import torch
from fairseq.distributed import utils as distributed

from tdo_plugin.errors import UserError
from tdo_plugin.models.config import OPTIONS, destination
from tdo_plugin.tasks.step_hooks import unwrapped

logger = logging.getLogger(__name__)


def check_takes_languages(model: Any, args: Namespace) -> None:
    """Refuse models that take no language ids.

    Raises:
        UserError: the model takes none.
    """
    if "tgt_lang_id" not in inspect.signature(model.forward).parameters:
        raise UserError(
            "`--arch` must take language ids with `--task tdo_translation`; "
            f"{getattr(args, 'arch', 'this model')} does not "
            "(`--task translation_multi_simple_epoch` can train it)"
        )


def check_trained(args: Namespace, terms: Container[str]) -> None:
    """Check for parts of the model that only a missing loss term would train.

    Args:
        args: of the model and of the task.
        terms: names of the criterion's loss terms.

    Raises:
        UserError: there is such a part and several workers, which would wait for its gradient;
            with one worker the part stays untrained, which is logged as a warning.
    """
    for option in OPTIONS.values():
        value = getattr(args, destination(option.flag), option.off)
        if not option.trained_by or value == option.off or option.trained_by in terms:
            continue
        message = (
            f"`--criterion` must have the loss term {option.trained_by} to train {option.title} of "
            f"`{option.flag}`; it has not"
        )
        if getattr(args, "distributed_world_size", 1) > 1:
            raise UserError(message)
        logger.warning("%s, so this part stays untrained", message)


def check_memory(model: Any, args: Namespace) -> None:
    """Log a warning if a training on a CPU probably needs more memory than there is.

    Only with ``--max-tokens``, and without what loss terms such as InstruCL need.

    Args:
        model: the model, of this package.
        args: of model, task and training.
    """
    spec = getattr(getattr(unwrapped(model), "core", None), "spec", None)
    on_cpu = args.cpu or not torch.cuda.is_available()
    if spec is None or not (on_cpu and args.max_tokens) or args.ddp_backend == "fully_sharded":
        return
    if distributed.get_global_rank():
        return  # the first worker says it
    from tdo_plugin.costs import training_bytes as costs
    from tdo_plugin.runtime.memory import gib, machine_memory

    core = unwrapped(model).core
    count = sum(part.numel() for part in core.parameters() if part.requires_grad)
    batch = costs.activations(
        spec, args.max_tokens, len(core.embeddings.target_weight), half=args.bf16
    )
    workers = int(os.environ.get("LOCAL_WORLD_SIZE", args.distributed_world_size))
    whole = costs.whole_bytes(costs.Parameters(count, 0, 0), workers, half=args.bf16)
    kept = batch.inputs + batch.again if args.checkpoint_activations else batch.kept
    need = workers * costs.process_bytes(whole.total + batch.vocabulary + kept)
    if need > (has := machine_memory()):
        logger.warning(
            f"this training needs about {gib(need)} of memory (an estimate), but this machine has "
            f"{gib(has)}; half of --max-tokens with twice --update-freq needs less"
        )
