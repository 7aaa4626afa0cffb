"""`tdo train --help-model`: the options that this package adds to fairseq-train."""

from __future__ import annotations

import argparse
from typing import Any

from tdo_plugin.launch.parser import Layout, Parser
from tdo_plugin.runtime.log_lines import without_log_lines


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
    """The options by section, without those of fairseq's base classes."""
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
    formatter = Layout("tdo train")
    for title, part, base in (
        ("model", TdoTransformer, None),
        ("losses", LabelSmoothedCrossEntropyTerms, LabelSmoothedCrossEntropyCriterion),
        ("--task tdo_translation", TdoTranslationTask, TranslationMultiSimpleEpochTask),
        ("--task tdo_robt", TdoRobtTask, TdoTranslationTask),
    ):
        known = {action.dest for action in _actions(base)} if base else set()
        formatter.start_section(title)
        formatter.add_arguments([action for action in _actions(part) if action.dest not in known])
        formatter.end_section()
    return formatter.format_help()


def _actions(part: Any) -> list[argparse.Action]:
    """The options that a registered fairseq class declares."""
    parser = Parser(add_help=False, conflict_handler="resolve")
    part.add_args(parser)
    return parser._actions
