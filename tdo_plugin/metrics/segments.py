"""What the neural metrics are given, and how they say that they cannot be computed."""

from __future__ import annotations

from dataclasses import dataclass


class Unavailable(Exception):
    """A metric cannot be computed here. Its text is one line: why, and what fixes it."""


@dataclass(frozen=True)
class Segments:
    """The test set of one direction, line for line; `sources` is None where it is not known."""

    target: str
    sources: tuple[str, ...] | None
    hypotheses: tuple[str, ...]
    references: tuple[str, ...]
