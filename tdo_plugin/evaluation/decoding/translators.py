"""The loaded models of a run: one for all directions, or another one for some sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Translator


@dataclass(frozen=True)
class Translators:
    """Who translates what.

    Attributes:
        usual: the model of all other directions.
        by_source: the models of directions from a language, as from a pivot that another model
            translates into.
    """

    usual: Translator
    by_source: Mapping[str, Translator]

    def of(self, direction: str) -> Translator:
        """The model that translates a direction such as `de-fr`."""
        return self.by_source.get(direction.split("-")[0], self.usual)
