"""Options of the scores that are measured during training."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection

from tdo_plugin.errors import UserError
from tdo_plugin.tasks.validation.validation_scores import LOWER_IS_BETTER, SCORES


def add_validation_options(parser: ArgumentParser) -> None:
    """Declare the ``--eval-...`` options."""
    parser.add_argument(
        "--eval-translation",
        metavar="DIRECTIONS",
        help="at every validation, translate a sample of these directions' validation sets and log "
        "BLEU, chrF++ and the off-target share: all, supervised, zero-shot, or a list such as "
        "de-fr,fr-de (default: none)",
    )
    parser.add_argument(
        "--eval-subset",
        metavar="SPLIT",
        help="translate these sets of the directions instead, such as test, by which no checkpoint "
        "can be chosen (default: the first of --valid-subset)",
    )
    parser.add_argument(
        "--eval-sentences",
        type=int,
        default=200,
        metavar="N",
        help="sentences of each direction, always the same ones (default: 200)",
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
        help="hypotheses have at most A * source length + B tokens, so that a model which ends no "
        "sentence costs little (default: 2)",
    )
    parser.add_argument(
        "--eval-max-len-b", type=int, default=10, metavar="B", help="see above (default: 10)"
    )
    parser.add_argument(
        "--eval-lid",
        metavar="NAME",
        help="what tells languages apart: corpus (learnt from the training text), references (from "
        "the sampled sentences), langdetect, fasttext, or a fastText model file (default: corpus "
        "in a folder of tdo preprocess; else no off-target share)",
    )
    parser.add_argument(
        "--eval-log-directions",
        type=int,
        default=24,
        metavar="N",
        help="a group (all, supervised, zero-shot) of up to N directions has each direction's "
        "scores in the log and TensorBoard, a larger one only means and the direction that "
        "--best-checkpoint-metric names; directions that are listed by name always have theirs, "
        "and validation.jsonl has every direction (default: 24)",
    )


def eval_subset(args: Namespace) -> str:
    """The split whose sentences are translated."""
    return str(args.eval_subset or args.valid_subset.split(",")[0])


def check_validation_options(args: Namespace) -> None:
    """Refuse values that make no sense.

    Raises:
        UserError: a number that is too small, or no validation to measure at.
    """
    least = {
        "eval_sentences": 1,
        "eval_beam": 1,
        "eval_max_len_a": 0,
        "eval_max_len_b": 1,
        "eval_log_directions": 0,
    }
    for name, bound in least.items():
        if getattr(args, name) < bound:
            option = name.replace("_", "-")
            raise UserError(f"`--{option}` must be at least {bound}; it is {getattr(args, name)}")
    if args.disable_validation:
        raise UserError("`--eval-translation` must be left out with --disable-validation")
    if args.ddp_backend == "fully_sharded":
        raise UserError(
            "`--ddp-backend` must keep a whole model in every process with --eval-translation; "
            "it is fully_sharded"
        )


def check_best_metric(args: Namespace, logged: Collection[str]) -> None:
    """Hold ``--best-checkpoint-metric`` against the scores that are going to be logged.

    fairseq itself would end with a KeyError at the first validation, or keep the worst checkpoint.

    Raises:
        UserError: the metric is a score that is not logged or is not of a validation set, or its
            direction is the wrong one.
    """
    metric = args.best_checkpoint_metric
    score = metric.split("_")[0]
    if score not in SCORES:
        return
    if not logged:
        raise UserError(
            f"`--eval-translation` must be given with --best-checkpoint-metric {metric}; it is not"
        )
    if metric not in logged:
        raise UserError(
            f"`--best-checkpoint-metric` must be loss or one of {', '.join(logged)}; it is {metric}"
        )
    if (subset := eval_subset(args)) not in args.valid_subset.split(","):
        raise UserError(
            f"`--best-checkpoint-metric` must be loss with --eval-subset {subset}, which is no set "
            f"of --valid-subset; it is {metric}"
        )
    if args.maximize_best_checkpoint_metric == (score in LOWER_IS_BETTER):
        required = "left out" if score in LOWER_IS_BETTER else "given"
        raise UserError(
            f"`--maximize-best-checkpoint-metric` must be {required} with --best-checkpoint-metric "
            f"{metric}; it is {'given' if args.maximize_best_checkpoint_metric else 'left out'}"
        )
