"""Options of back-translation, and their checks."""

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
        help="languages to back-translate targets into, a list such as de,fr; one is drawn for "
        "each sentence, never its own target language (default: all of --langs)",
    )
    parser.add_argument(
        "--robt-targets",
        choices=("all", "listed"),
        default="all",
        help="which sentences are back-translated: all, as in Algorithm 1 of the paper; or listed: "
        "those whose target language is in --robt-languages, so that all pseudo-pairs are between "
        "these languages (default: all)",
    )
    parser.add_argument(
        "--robt-share",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="share of sentences that are back-translated, drawn at random (default: 1)",
    )
    parser.add_argument(
        "--robt-max-length-ratio",
        type=float,
        default=1.0,
        metavar="RATIO",
        help="maximum length of a back-translation, as a multiple of the tokens that are "
        "translated including tag and end symbol (default: 1)",
    )
    parser.add_argument(
        "--robt-beam",
        type=int,
        default=1,
        metavar="N",
        help="beam size of back-translation (default: 1, greedy search)",
    )
    parser.add_argument(
        "--robt-start-update",
        type=int,
        default=0,
        metavar="N",
        help="number of updates before back-translation starts (default: 0)",
    )


def check_robt_options(args: Namespace) -> None:
    """Refuse invalid values, and trainings for which back-translation is not possible.

    Raises:
        UserError: a number is out of range; tags do not give the target language, or replace the
            first symbol; there are other categories of data; or no process has the whole model.
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
            "`--lang-tok-replacing-bos-eos` must be off with --task tdo_robt: a search has one "
            "first symbol for all sentences of a batch, but languages are mixed; it is on"
        )
    source, target = tag_sides(args)
    if source != "tgt" and not target:
        raise UserError(
            "`--encoder-langtok` must be tgt, or --decoder-langtok on, with --task tdo_robt: "
            f"otherwise no tag gives the language to translate into; it is {source}"
        )
    if args.extra_data:
        raise UserError(
            "`--extra-data` must not be set with --task tdo_robt, which supports only the tags of "
            f"the main data; it is {args.extra_data}"
        )
    if getattr(args, "monolingual", None) is not None:
        raise UserError(
            "`--monolingual` must not be set with --task tdo_robt, which needs sentence pairs; it "
            f"is {args.monolingual}"
        )
    if getattr(args, "back_translated", None) is not None:
        raise UserError(
            "`--back-translated` must not be set with --task tdo_robt, whose random draws identify "
            f"pairs only by number and direction; it is {args.back_translated}"
        )
    if args.ddp_backend == "fully_sharded" and not args.no_reshard_after_forward:
        raise UserError(
            "`--no-reshard-after-forward` must be set with --task tdo_robt and --ddp-backend "
            "fully_sharded, since workers have different numbers of batches; it is not"
        )


def check_robt_targets(args: Namespace, languages: Sequence[str], pairs: Sequence[str]) -> None:
    """Refuse ``--robt-targets listed`` without a list of languages, or with no trained target.

    Args:
        args: of the task.
        languages: from :func:`robt_languages`.
        pairs: the trained directions, such as ``en-de``.

    Raises:
        UserError: there is no list of languages, or it has no trained target.
    """
    if args.robt_targets != "listed":
        return
    if args.robt_languages is None:
        raise UserError("`--robt-languages` must be set with --robt-targets listed; it is not")
    targets = list(dict.fromkeys(pair.split("-")[1] for pair in pairs))
    if not set(targets).intersection(languages):
        raise UserError(
            f"`--robt-languages` must have one of the trained targets ({', '.join(targets)}) with "
            f"--robt-targets listed; it has {', '.join(languages)}"
        )


def robt_languages(requested: str | None, task_languages: Sequence[str]) -> list[str]:
    """The languages to draw from (the paper's T): ``requested``, or all of the task's.

    Raises:
        UserError: a language is unknown, or there are fewer than two.
    """
    languages = (
        list(task_languages) if requested is None else list(dict.fromkeys(requested.split(",")))
    )
    if unknown := [language for language in languages if language not in task_languages]:
        raise UserError(
            f"`--robt-languages` must be a subset of {', '.join(task_languages)}; it has "
            f"{', '.join(unknown)}"
        )
    if len(languages) < 2:
        raise UserError(
            "`--robt-languages` must have at least two languages, so that each sentence has one "
            f"that is not its own target's; it has {', '.join(languages)}"
        )
    return languages
