"""The route of a translation: source language, optional pivot, target language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tdo_plugin.errors import UserError
from tdo_plugin.names import LANGUAGE

_COMMAND = re.compile(rf":{LANGUAGE}(-{LANGUAGE})*")


@dataclass(frozen=True)
class Route:
    """Source, target and optional pivot; a pivot equal to source or target is ignored."""

    source: str
    target: str
    pivot: str | None = None

    @classmethod
    def of(cls, steps: Sequence[str]) -> Route:
        """A route from languages in order: source, optional pivot, target."""
        return cls(steps[0], steps[-1], steps[1] if len(steps) > 2 else None)

    @property
    def steps(self) -> tuple[str, ...]:
        """The languages in order."""
        between = () if self.pivot in (None, self.source, self.target) else (self.pivot,)
        return (self.source, *between, self.target)

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions to translate in order, such as `de-en` and `en-fr`."""
        return tuple(map("-".join, pairwise(self.steps)))

    def changed(self, command: str) -> Route:
        """The route after a command: `:xx` changes the target, `:xx-yy` source and target.

        Raises:
            UserError: the command names more than two languages.
        """
        names = command[1:].split("-")
        if len(names) > 2:
            raise UserError(f"`:xx-yy` must name at most two languages; {command} has {len(names)}")
        return replace(self, source=names[0] if names[1:] else self.source, target=names[-1])


def is_command(line: str) -> bool:
    """Whether a line is a command; any other line is a sentence, even with a colon."""
    return _COMMAND.fullmatch(line) is not None
