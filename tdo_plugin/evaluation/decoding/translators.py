"""The loaded models of a run: one for all directions, or others for some source languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Translator


@dataclass(frozen=True)
class Translators:
    """The model for each direction.

    Attributes:
        usual: the default model.
        by_source: models by source language, such as a model for translation from the pivot.
    """

    usual: Translator
    by_source: Mapping[str, Translator]

    def of(self, direction: str) -> Translator:
        """The model that translates a direction such as `de-fr`."""
        return self.by_source.get(direction.split("-")[0], self.usual)
