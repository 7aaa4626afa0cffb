"""Options of back-translation."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from tdo_plugin.errors import UserError
from tdo_plugin.models.languages import tag_sides


def add_robt_options(parser: ArgumentParser) -> None:
    """Declare the ``--robt-...`` options."""
    parser.add_argument(
        "--robt-languages",
        metavar="LANGUAGES",
        help="languages that targets are translated back into, a list such as de,fr; each sentence "
        "draws one that is not its target's own (default: all of --langs)",
    )
    parser.add_argument(
        "--robt-targets",
        choices=("all", "listed"),
        default="all",
        help="which sentences are translated back: all, as in the paper's Algorithm 1, or those "
        "whose target is in one of --robt-languages, so that all pseudo-pairs are between these "
        "(default: all)",
    )
    parser.add_argument(
        "--robt-share",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="share of the sentences, drawn, that are translated back (default: 1)",
    )
    parser.add_argument(
        "--robt-max-length-ratio",
        type=float,
        default=1.0,
        metavar="RATIO",
        help="a back-translation has at most so many times the tokens that are translated, their "
        "tag and end included (default: 1)",
    )
    parser.add_argument(
        "--robt-beam",
        type=int,
        default=1,
        metavar="N",
        help="beam size (default: 1, greedy search)",
    )
    parser.add_argument(
        "--robt-start-update",
        type=int,
        default=0,
        metavar="N",
        help="train on the data alone for so many updates (default: 0)",
    )


def check_robt_options(args: Namespace) -> None:
    """Refuse values that make no sense, and trainings that cannot have back-translations.

    Raises:
        UserError: a number out of its range; tags that leave the target language untold, or that
            take the place of the first symbol; further kinds of data; a model of which no process
            has the whole.
    """
    if not 0 < args.robt_share <= 1:
        raise UserError(f"`--robt-share` must be above 0 and at most 1; it is {args.robt_share}")
    ratio = args.robt_max_length_ratio
    if not (0 < ratio < math.inf):
        raise UserError(f"`--robt-max-length-ratio` must be positive and finite; it is {ratio}")
    for name, least in (("robt_beam", 1), ("robt_start_update", 0)):
        if getattr(args, name) < least:
            option = name.replace("_", "-")
            raise UserError(f"`--{option}` must be at least {least}; it is {getattr(args, name)}")
    if args.lang_tok_replacing_bos_eos:
        raise UserError(
            "`--lang-tok-replacing-bos-eos` must be off with --task tdo_robt: a search begins all "
            "sentences of a batch with one symbol, here they would have several; it is on"
        )
    source, target = tag_sides(args)
    if source != "tgt" and not target:
        raise UserError(
            "`--encoder-langtok` must be tgt, or --decoder-langtok given, with --task tdo_robt, "
            f"or nothing says which language to translate into; it is {source}"
        )
    if args.extra_data:
        raise UserError(
            "`--extra-data` must be left out with --task tdo_robt, which knows the tags of the "
            f"main data alone; it is {args.extra_data}"
        )
    if getattr(args, "monolingual", None) is not None:
        raise UserError(
            "`--monolingual` must be left out with --task tdo_robt, which translates the target of "
            f"a pair back to train on it with another source; it is {args.monolingual}"
        )
    if getattr(args, "back_translated", None) is not None:
        raise UserError(
            "`--back-translated` must be left out with --task tdo_robt, whose draws know a pair by "
            f"its number and direction alone; it is {args.back_translated}"
        )
    if args.ddp_backend == "fully_sharded":
        raise UserError(
            "`--ddp-backend` must keep a whole model in every process with --task tdo_robt; it is "
            "fully_sharded"
        )


def check_robt_targets(args: Namespace, languages: Sequence[str], pairs: Sequence[str]) -> None:
    """Refuse a restriction of the targets without a list, or with one that leaves out all of them.

    Args:
        args: of the task.
        languages: those of :func:`robt_languages`.
        pairs: the trained directions, such as ``en-de``.

    Raises:
        UserError: ``--robt-targets listed`` without a list, or with one that has no trained target.
    """
    if args.robt_targets != "listed":
        return
    if args.robt_languages is None:
        raise UserError("`--robt-languages` must be given with --robt-targets listed; it is not")
    targets = list(dict.fromkeys(pair.split("-")[1] for pair in pairs))
    if not set(targets).intersection(languages):
        raise UserError(
            f"`--robt-languages` must have one of the trained targets ({', '.join(targets)}) with "
            f"--robt-targets listed; it has {', '.join(languages)}"
        )


def robt_languages(requested: str | None, task_languages: Sequence[str]) -> list[str]:
    """The languages that are drawn from (the paper's T), all that are known unless some are named.

    Raises:
        UserError: an unknown one, or fewer than two.
    """
    languages = (
        list(task_languages) if requested is None else list(dict.fromkeys(requested.split(",")))
    )
    if unknown := [language for language in languages if language not in task_languages]:
        raise UserError(
            f"`--robt-languages` must be some of {', '.join(task_languages)}; it has "
            f"{', '.join(unknown)}"
        )
    if len(languages) < 2:
        raise UserError(
            "`--robt-languages` must have two languages at least, so that each sentence has one "
            f"beside its target's own; it has {', '.join(languages)}"
        )
    return languages
