"""The input of neural metrics, and their error if they cannot be computed."""

from __future__ import annotations

from dataclasses import dataclass


class Unavailable(Exception):
    """A metric cannot be computed here. Its message is one line: the reason and a fix."""


@dataclass(frozen=True)
class Segments:
    """The test set of one direction, line by line; `sources` is None if unknown."""

    target: str
    sources: tuple[str, ...] | None
    hypotheses: tuple[str, ...]
    references: tuple[str, ...]
