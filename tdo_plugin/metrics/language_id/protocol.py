"""The interface of language detectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

UNDETECTABLE = "?"


class Identifier(Protocol):
    """Identifies the language of each sentence. It can be pickled for other processes."""

    @property
    def signature(self) -> str:
        """The detector with its version or checksum."""

    def label(self, language: str) -> str | None:
        """The label in `identify` for a language of the corpus; None if it is not supported."""

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """One code per sentence; UNDETECTABLE if there is no evidence."""

    def probabilities(self, sentence: str) -> dict[str, float]:
        """The probability of each likely code; empty if there is no evidence."""


def has_letters(sentence: str) -> bool:
    """Whether a sentence has letters, without which its language cannot be identified."""
    return any(map(str.isalpha, sentence))


def each_once(identify: Callable[[str], str], sentences: Sequence[str]) -> list[str]:
    """A code for each sentence; equal sentences, frequent in bad output, are identified once."""
    codes = {
        sentence: identify(sentence) if has_letters(sentence) else UNDETECTABLE
        for sentence in dict.fromkeys(sentences)
    }
    return [codes[sentence] for sentence in sentences]
