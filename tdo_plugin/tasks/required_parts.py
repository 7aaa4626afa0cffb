"""Checks that model and criterion fit a task of this package."""

from __future__ import annotations

import inspect
import logging
from argparse import Namespace
from collections.abc import Container
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.models.config import OPTIONS, destination

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
