"""Multilingual translation with random online back-translation."""

from argparse import ArgumentParser, Namespace

from fairseq.data import Dictionary
from fairseq.tasks import register_task

from tdo_plugin.tasks.robt import BackTranslation, add_robt_options
from tdo_plugin.tasks.tdo_translation import TdoTranslationTask


@register_task("tdo_robt")
class TdoRobtTask(TdoTranslationTask):
    """``tdo_translation`` with one step hook; what it trains is translated with either task."""

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """Options of ``tdo_translation``, and those of back-translation."""
        TdoTranslationTask.add_args(parser)
        add_robt_options(parser)

    def __init__(
        self, args: Namespace, langs: list[str], dicts: dict[str, Dictionary], training: bool
    ) -> None:
        super().__init__(args, langs, dicts, training)
        if training:
            self.step_hooks.append(BackTranslation(self))
