"""Multilingual translation with random online back-translation."""

from argparse import ArgumentParser

from fairseq.tasks import register_task

from tdo_plugin.tasks.robt import BackTranslation, add_robt_options
from tdo_plugin.tasks.step_hooks import StepHook
from tdo_plugin.tasks.tdo_translation import TdoTranslationTask


@register_task("tdo_robt")
class TdoRobtTask(TdoTranslationTask):
    """``tdo_translation`` with one step hook; what it trains is translated with either task."""

    trains_unlisted_pairs = True

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """Options of ``tdo_translation``, and those of back-translation."""
        TdoTranslationTask.add_args(parser)
        add_robt_options(parser)

    def make_step_hooks(self) -> list[StepHook]:
        """Back-translation first: what it makes is disturbed as well, what it reads is not."""
        return [BackTranslation(self), *super().make_step_hooks()]
