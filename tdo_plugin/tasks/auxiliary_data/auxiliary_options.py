"""Options of auxiliary training data, and their checks."""

from __future__ import annotations

import math
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from tdo_plugin.data.auxiliary_folder import BACK_TRANSLATED, MONOLINGUAL
from tdo_plugin.errors import UserError
from tdo_plugin.models.languages import tag_sides

SHARE = 0.5


def add_auxiliary_options(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--monolingual",
        metavar="FOLDER",
        help="also train on monolingual target text: a folder of tdo monolingual; its sentences "
        "have no source, except the target language's tag if tags are on the source only",
    )
    parser.add_argument(
        "--monolingual-share",
        type=float,
        metavar="P",
        help="share of --monolingual sentences in an epoch; the number of pairs stays as without "
        f"them, unless --virtual-data-size sets the size of both together (default: {SHARE})",
    )
    parser.add_argument(
        "--back-translated",
        metavar="FOLDER",
        help="also train on pairs with synthetic sources: a folder of tdo backtranslate, whose "
        "pairs are added to those of their direction",
    )
    parser.add_argument(
        "--back-translated-upsampling",
        type=float,
        metavar="R",
        help="sampling weight of a true pair in directions with synthetic pairs, whose weight is "
        "1 (default: 1)",
    )
    parser.add_argument(
        "--back-translated-tag",
        metavar="SYMBOL",
        help="a tag such as <bt> before each synthetic source, after its language tag; it is added "
        "at the end of the dictionary, so a model trained with it needs this option whenever it "
        "is used",
    )


def check_auxiliary_options(args: Namespace) -> None:
    """Refuse invalid values, and options that would have no effect.

    Raises:
        UserError: names the first problem.
    """
    share = getattr(args, "monolingual_share", None)
    if share is not None and not 0 < share < 1:
        raise UserError(f"`--monolingual-share` must be above 0 and below 1; it is {share}")
    rate = getattr(args, "back_translated_upsampling", None)
    if rate is not None and not 0 < rate < math.inf:
        raise UserError(f"`--back-translated-upsampling` must be positive and finite; it is {rate}")
    for name, further in (("monolingual", "share"), ("back_translated", "upsampling")):
        option, value = f"--{name.replace('_', '-')}", getattr(args, f"{name}_{further}", None)
        folder = getattr(args, name, None)
        if folder is None and value is not None:
            raise UserError(f"`{option}-{further}` must not be set without {option}; it is {value}")
        if folder is not None:
            _check_folder(option, folder, args)
    for option in ("sampling_weights", "extra_data"):
        for key in getattr(args, option, None) or ():
            if key.partition(":")[0] in (MONOLINGUAL.name, BACK_TRANSLATED.name):
                raise UserError(
                    f"`--{option.replace('_', '-')}` must leave out auxiliary data, which has "
                    f"options of its own (--monolingual, --back-translated); it has {key}"
                )
    alone = getattr(args, "monolingual", None) is not None
    if alone and args.lang_tok_replacing_bos_eos and not tag_sides(args)[1]:
        raise UserError(
            "`--lang-tok-replacing-bos-eos` must be off, or --decoder-langtok on, with "
            "--monolingual: a sentence without source has no end symbol for a tag to replace; "
            "it is on"
        )


def check_mark(args: Namespace) -> None:
    """Refuse a tag for synthetic sources if nothing adds it to the dictionary.

    Raises:
        UserError: the data are loaded by fairseq.
    """
    has_tag = getattr(args, "back_translated_tag", None) is not None
    if has_tag and getattr(args, "data_loading", "lean") != "lean":
        raise UserError("`--data-loading` must be lean with --back-translated-tag; it is fairseq")


def _check_folder(option: str, folder: str, args: Namespace) -> None:
    if os.pathsep in folder:
        raise UserError(
            f"`{option}` must be a single folder, without {os.pathsep} in its name; it is {folder}"
        )
    if args.data_loading == "fairseq":
        raise UserError(f"`--data-loading` must be lean with {option}; it is fairseq")


def check_topology(model: Any, args: Namespace) -> None:
    """Refuse models whose targets need a source.

    Raises:
        UserError: the model is an encoder-decoder, or of another package.
    """
    if getattr(args, "monolingual", None) is None:
        return
    spec = getattr(getattr(model, "core", None), "spec", None)
    topology = getattr(spec, "topology", "another")
    if topology != "decoder-only":
        raise UserError(
            "`--tdo-topology` must be decoder-only with --monolingual: in other models a target "
            f"without a source has nothing to attend to; it is {topology}"
        )


def check_terms(terms: Mapping[str, Any], args: Namespace) -> None:
    """Refuse loss terms that need a source.

    Args:
        terms: of the criterion, by name.
        args: of the task.

    Raises:
        UserError: a term needs a source, and some sentences have none.
    """
    if getattr(args, "monolingual", None) is None:
        return
    if needing := [name for name, term in terms.items() if term.needs_source]:
        raise UserError(
            f"`--loss-terms` must not have {needing[0]} with --monolingual, whose sentences have "
            f"no source for this term; it has {needing[0]}"
        )
