"""Options of this package's search, and the generator that they choose."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.models.forced_tag import check_free_tag, free_tag
from tdo_plugin.models.topk_beam_search import use_topk


def add_search_options(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--whole-search",
        action="store_true",
        help="search over the whole vocabulary as fairseq does (also for --task tdo_robt); slower, "
        "same hypotheses",
    )
    parser.add_argument(
        "--free-tag",
        action="store_true",
        help="in generation, give a forced target tag log-probability 0 instead of the model's, as "
        "Hugging Face's generate does",
    )


def check_alignment(args: Namespace) -> None:
    """Refuse alignments; for callers that did not parse a command line.

    Raises:
        UserError: alignments are requested. With one softmax over source and target there is no
            separate attention over the source.
    """
    for option in ("print_alignment", "replace_unk"):
        if getattr(args, option, None):
            raise UserError(
                f"`--{option.replace('_', '-')}` must not be set: these models keep no "
                f"attention weights; it is {getattr(args, option)}"
            )


def chosen_search(generator: Any, task: Any) -> Any:
    """The generator for a task's options, based on fairseq's.

    Raises:
        UserError: ``--free-tag`` is on but no tag is forced.
    """
    if getattr(task.args, "free_tag", False):
        check_free_tag(task)
        return free_tag(generator)
    return generator if getattr(task.args, "whole_search", False) else use_topk(generator)
