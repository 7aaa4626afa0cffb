"""Chooses the directions that are translated in validation."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from fairseq import utils
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask

from tdo_plugin.errors import UserError
from tdo_plugin.tasks.validation.validation_scores import SCORES

GROUPS = ("all", "supervised", "zero-shot")

logger = logging.getLogger(__name__)


def choose_directions(
    task: TranslationMultiSimpleEpochTask, requested: str, split: str
) -> list[str]:
    """The requested directions that have a set to translate.

    Args:
        task: of the training.
        requested: `all`, `supervised`, `zero-shot` or a list such as `de-fr,fr-de`.
        split: the subset to translate.

    Raises:
        UserError: a listed direction has no set or no trained language, or none is left.
    """
    trained = list(dict.fromkeys(task.lang_pairs))
    sources, targets = dict.fromkeys(task.source_langs), dict.fromkeys(task.target_langs)
    pairs = [f"{source}-{target}" for source in sources for target in targets if source != target]
    zero_shot = [pair for pair in pairs if pair not in trained]
    groups = dict(zip(GROUPS, (trained + zero_shot, trained, zero_shot), strict=True))
    chosen = groups.get(requested) or list(dict.fromkeys(requested.split(",")))
    has = task.data_manager.stem
    available = [pair for pair in chosen if pair in groups["all"] and has(split, pair)]
    missing = [pair for pair in chosen if pair not in available]
    if missing and (requested not in groups or not available):
        raise UserError(
            "`--eval-translation` must be all, supervised, zero-shot or directions of trained "
            f"languages that have a {split} set in {data_of(task)}; {missing[0]} has none"
        )
    if missing:
        shown = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
        logger.info(
            f"--eval-translation {requested}: {len(missing)} of {len(chosen)} directions have no "
            f"{split} set and are left out ({shown})"
        )
    return available


def with_own_values(args: Namespace, directions: Sequence[str]) -> list[str]:
    """The directions whose scores are in the log and TensorBoard in addition to the means.

    These are all listed directions, or all of a group that is small enough. Of a larger group it
    is only the direction that chooses checkpoints, if one does.
    """
    limit = args.eval_log_directions
    if args.eval_translation not in GROUPS or len(directions) <= limit:
        return list(directions)
    best = args.best_checkpoint_metric
    logged = [
        direction for direction in directions if best in {f"{name}_{direction}" for name in SCORES}
    ]
    logger.info(
        f"the log and TensorBoard have only {' and '.join(['means', *logged])}, since "
        f"{len(directions)} directions are more than --eval-log-directions {limit}"
    )
    return logged


def data_of(task: TranslationMultiSimpleEpochTask) -> Path:
    """The folder of the validation sets: the first data folder, as in fairseq."""
    return Path(utils.split_paths(task.args.data)[0])
