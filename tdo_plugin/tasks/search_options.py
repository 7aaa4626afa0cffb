"""Options of the search that this package has beside fairseq's, and the generator they choose."""

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
        help="search as fairseq does, among the scores of the whole vocabulary, also for "
        "--task tdo_robt: slower, the same hypotheses",
    )
    parser.add_argument(
        "--free-tag",
        action="store_true",
        help="in generation, a target tag that is forced has log-probability 0, as in Hugging "
        "Face's generate, instead of the model's",
    )


def check_alignment(args: Namespace) -> None:
    """Refuse alignments, for callers that did not parse a command line.

    Raises:
        UserError: they are asked for. With one softmax over source and target no attention over
            the source stands alone.
    """
    for option in ("print_alignment", "replace_unk"):
        if getattr(args, option, None):
            raise UserError(
                f"`--{option.replace('_', '-')}` must be left out: these models keep no "
                f"attention weights; it is {getattr(args, option)}"
            )


def chosen_search(generator: Any, task: Any) -> Any:
    """The generator that a task's options ask for, made of fairseq's.

    Raises:
        UserError: ``--free-tag`` where no tag is forced.
    """
    if getattr(task.args, "free_tag", False):
        check_free_tag(task)
        return free_tag(generator)
    return generator if getattr(task.args, "whole_search", False) else use_topk(generator)
