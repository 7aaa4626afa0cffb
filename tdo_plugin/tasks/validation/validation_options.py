"""Options of the scores that are computed during training, and their checks."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Collection

from tdo_plugin.errors import UserError
from tdo_plugin.tasks.validation.validation_scores import LOWER_IS_BETTER, SCORES


def add_validation_options(parser: ArgumentParser) -> None:
    """Declare the ``--eval-...`` options."""
    parser.add_argument(
        "--eval-translation",
        metavar="DIRECTIONS",
        help="in every validation, translate a sample of the validation sets of these directions "
        "and log BLEU, chrF++ and the off-target rate: all, supervised, zero-shot, or a list such "
        "as de-fr,fr-de (default: none)",
    )
    parser.add_argument(
        "--eval-subset",
        metavar="SPLIT",
        help="subset to translate instead, such as test; its scores cannot choose checkpoints "
        "(default: the first of --valid-subset)",
    )
    parser.add_argument(
        "--eval-sentences",
        type=int,
        default=200,
        metavar="N",
        help="number of sentences per direction, the same in every validation (default: 200)",
    )
    parser.add_argument(
        "--eval-beam",
        type=int,
        default=1,
        metavar="N",
        help="beam size (default: 1, greedy search)",
    )
    parser.add_argument(
        "--eval-max-len-a",
        type=float,
        default=2.0,
        metavar="A",
        help="maximum length of hypotheses is A * source length + B tokens, which bounds the time "
        "for models that do not end sentences (default: 2)",
    )
    parser.add_argument(
        "--eval-max-len-b", type=int, default=10, metavar="B", help="see above (default: 10)"
    )
    parser.add_argument(
        "--eval-lid",
        metavar="NAME",
        help="language identification: corpus (learnt from the training text), references (from "
        "the sampled sentences), langdetect, fasttext, or a fastText model file (default: corpus "
        "for a folder of tdo preprocess; otherwise no off-target rate)",
    )
    parser.add_argument(
        "--eval-log-directions",
        type=int,
        default=24,
        metavar="N",
        help="a group (all, supervised, zero-shot) of up to N directions has each direction's "
        "scores in the log and TensorBoard, a larger one only means and the direction of "
        "--best-checkpoint-metric; directions listed by name always have theirs, and "
        "validation.jsonl has every direction (default: 24)",
    )


def eval_subset(args: Namespace) -> str:
    """The subset that is translated."""
    return str(args.eval_subset or args.valid_subset.split(",")[0])


def check_validation_options(args: Namespace) -> None:
    """Refuse invalid values.

    Raises:
        UserError: a number is too small, or validation is disabled.
    """
    least = {
        "eval_sentences": 1,
        "eval_beam": 1,
        "eval_max_len_a": 0,
        "eval_max_len_b": 1,
        "eval_log_directions": 0,
    }
    for name, bound in least.items():
        value = getattr(args, name)
        if not bound <= value < math.inf:
            option = name.replace("_", "-")
            raise UserError(f"`--{option}` must be at least {bound}, and finite; it is {value}")
    if args.disable_validation:
        raise UserError("`--eval-translation` must not be set with --disable-validation")


def check_best_metric(args: Namespace, logged: Collection[str]) -> None:
    """Check ``--best-checkpoint-metric`` against the scores that will be logged.

    fairseq would fail with a KeyError at the first validation, or keep the worst checkpoint.

    Raises:
        UserError: the metric is not logged or not of a validation set, or
            ``--maximize-best-checkpoint-metric`` does not fit it.
    """
    metric = args.best_checkpoint_metric
    score = metric.split("_")[0]
    if score not in SCORES:
        return
    if not logged:
        raise UserError(
            f"`--eval-translation` must be set with --best-checkpoint-metric {metric}; it is not"
        )
    if metric not in logged:
        raise UserError(
            f"`--best-checkpoint-metric` must be loss or one of {', '.join(logged)}; it is {metric}"
        )
    if (subset := eval_subset(args)) not in args.valid_subset.split(","):
        raise UserError(
            f"`--best-checkpoint-metric` must be loss with --eval-subset {subset}, which is not "
            f"one of --valid-subset; it is {metric}"
        )
    if args.maximize_best_checkpoint_metric == (score in LOWER_IS_BETTER):
        required = "left out" if score in LOWER_IS_BETTER else "given"
        raise UserError(
            f"`--maximize-best-checkpoint-metric` must be {required} with --best-checkpoint-metric "
            f"{metric}; it is {'given' if args.maximize_best_checkpoint_metric else 'left out'}"
        )
