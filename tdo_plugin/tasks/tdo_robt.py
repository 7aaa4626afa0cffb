"""Multilingual translation with random online back-translation."""

from argparse import ArgumentParser

from fairseq.tasks import register_task

from tdo_plugin.tasks.robt import BackTranslation, add_robt_options
from tdo_plugin.tasks.step_hooks import StepHook
from tdo_plugin.tasks.tdo_translation import TdoTranslationTask


@register_task("tdo_robt")
class TdoRobtTask(TdoTranslationTask):
    """``tdo_translation`` with back-translation; its models are decoded with either task."""

    trains_unlisted_pairs = True

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """Options of ``tdo_translation`` and of back-translation."""
        TdoTranslationTask.add_args(parser)
        add_robt_options(parser)

    def make_step_hooks(self) -> list[StepHook]:
        """Back-translation first: noise is added to its output, but not to its input."""
        return [BackTranslation(self), *super().make_step_hooks()]
