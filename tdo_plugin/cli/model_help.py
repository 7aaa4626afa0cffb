"""`tdo train --help-model`: the options that this package adds to fairseq-train."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from tdo_plugin.launch.parser import Layout, Parser
from tdo_plugin.runtime.log_lines import without_log_lines

MODEL = "model"


class PrintModelOptions(argparse.Action):
    """Prints the options of the model, its losses and its task."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        text = "list the model, loss and task options that this package adds to fairseq-train"
        super().__init__(option_strings, dest, nargs=0, help=text, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print, and exit."""
        print(model_options())
        parser.exit()


def model_options() -> str:
    """The options, section by section, as help."""
    formatter = Layout("tdo train")
    for title, actions in option_sections():
        formatter.start_section(title)
        formatter.add_arguments(actions)
        formatter.end_section()
    return formatter.format_help()


def option_sections() -> Iterator[tuple[str, list[argparse.Action]]]:
    """The options of the model, of losses and of each task, without those of fairseq's classes."""
    with without_log_lines():
        from fairseq.criterions.label_smoothed_cross_entropy import (
            LabelSmoothedCrossEntropyCriterion,
        )
        from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask

        from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import (
            LabelSmoothedCrossEntropyTerms,
        )
        from tdo_plugin.models.tdo_transformer import TdoTransformer
        from tdo_plugin.tasks.tdo_robt import TdoRobtTask
        from tdo_plugin.tasks.tdo_translation import TdoTranslationTask
    for title, part, base in (
        (MODEL, TdoTransformer, None),
        ("losses", LabelSmoothedCrossEntropyTerms, LabelSmoothedCrossEntropyCriterion),
        ("--task tdo_translation", TdoTranslationTask, TranslationMultiSimpleEpochTask),
        ("--task tdo_robt", TdoRobtTask, TdoTranslationTask),
    ):
        known = {action.dest for action in _actions(base)} if base else set()
        yield title, [action for action in _actions(part) if action.dest not in known]


def _actions(part: Any) -> list[argparse.Action]:
    """The options that a registered fairseq class declares."""
    parser = Parser(add_help=False, conflict_handler="resolve")
    part.add_args(parser)
    return parser._actions
