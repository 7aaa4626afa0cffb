"""Options of further training data, and what they do not go together with."""

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
        help="train on target-side text alone, too: a folder of tdo monolingual; its sentences "
        "have no source (where the target's tag stands on the source alone, that tag)",
    )
    parser.add_argument(
        "--monolingual-share",
        type=float,
        metavar="P",
        help="share of the sentences of an epoch that are of --monolingual; the others are as many "
        f"as without it, or --virtual-data-size is both together (default: {SHARE})",
    )
    parser.add_argument(
        "--back-translated",
        metavar="FOLDER",
        help="train on pairs with synthetic sources, too: a folder of tdo backtranslate, whose "
        "pairs join those of their direction",
    )
    parser.add_argument(
        "--back-translated-upsampling",
        type=float,
        metavar="R",
        help="a true pair of a direction with synthetic ones counts R times, a synthetic one once "
        "(default: 1)",
    )
    parser.add_argument(
        "--back-translated-tag",
        metavar="SYMBOL",
        help="a symbol such as <bt> in front of each synthetic source, behind its language tag; it "
        "gets a place at the end of the dictionary, which a model that was trained with it keeps "
        "only where this is given",
    )


def check_auxiliary_options(args: Namespace) -> None:
    """Refuse values that make no sense, and options that would do nothing.

    Raises:
        UserError: on the first of them.
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
            raise UserError(
                f"`{option}-{further}` must be left out without {option}; it is {value}"
            )
        if folder is not None:
            _check_folder(option, folder, args)
    for option in ("sampling_weights", "extra_data"):
        for key in getattr(args, option, None) or ():
            if key.partition(":")[0] in (MONOLINGUAL.name, BACK_TRANSLATED.name):
                raise UserError(
                    f"`--{option.replace('_', '-')}` must leave out further data, which has "
                    f"--monolingual, --back-translated and options of these; it has {key}"
                )
    alone = getattr(args, "monolingual", None) is not None
    if alone and args.lang_tok_replacing_bos_eos and not tag_sides(args)[1]:
        raise UserError(
            "`--lang-tok-replacing-bos-eos` must be off, or --decoder-langtok on, with "
            "--monolingual: a sentence without a source has no end there that a tag could replace; "
            "it is on"
        )


def check_mark(args: Namespace) -> None:
    """Refuse the mark of synthetic sources where nothing puts it into the dictionary.

    Raises:
        UserError: data is loaded in fairseq's way.
    """
    has_tag = getattr(args, "back_translated_tag", None) is not None
    if has_tag and getattr(args, "data_loading", "lean") != "lean":
        raise UserError("`--data-loading` must be lean with --back-translated-tag; it is fairseq")


def _check_folder(option: str, folder: str, args: Namespace) -> None:
    if os.pathsep in folder:
        raise UserError(
            f"`{option}` must be one folder, without {os.pathsep} in its name; it is {folder}"
        )
    if args.data_loading == "fairseq":
        raise UserError(f"`--data-loading` must be lean with {option}; it is fairseq")


def check_topology(model: Any, args: Namespace) -> None:
    """Refuse models whose targets cannot do without a source.

    Raises:
        UserError: the model is an encoder-decoder, or unknown.
    """
    if getattr(args, "monolingual", None) is None:
        return
    spec = getattr(getattr(model, "core", None), "spec", None)
    topology = getattr(spec, "topology", "another")
    if topology != "decoder-only":
        raise UserError(
            "`--tdo-topology` must be decoder-only with --monolingual: elsewhere a target without "
            f"a source has nothing to attend to; it is {topology}"
        )


def check_terms(terms: Mapping[str, Any], args: Namespace) -> None:
    """Refuse loss terms that have nothing to look at in a sentence without a source.

    Args:
        terms: of the criterion, by name.
        args: of the task.

    Raises:
        UserError: there is one.
    """
    if getattr(args, "monolingual", None) is None:
        return
    if needing := [name for name, term in terms.items() if term.needs_source]:
        raise UserError(
            f"`--loss-terms` must leave out {needing[0]} with --monolingual, whose sentences have "
            f"no source that it could look at; it has {needing[0]}"
        )
