"""What every detector of languages does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

UNDETECTABLE = "?"


class Identifier(Protocol):
    """Names the language of each sentence. It can be sent to other processes (`pickle`)."""

    @property
    def signature(self) -> str:
        """The detector with its version or checksum."""

    def label(self, language: str) -> str | None:
        """What `identify` calls a language of the corpus; None where it cannot recognise it."""

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """One code a sentence; UNDETECTABLE where there is nothing to go by."""


def has_letters(sentence: str) -> bool:
    """Whether there is anything in a sentence that tells its language."""
    return any(map(str.isalpha, sentence))


def each_once(identify: Callable[[str], str], sentences: Sequence[str]) -> list[str]:
    """A code for each sentence; equal ones, of which off-target output has many, are asked once."""
    codes = {
        sentence: identify(sentence) if has_letters(sentence) else UNDETECTABLE
        for sentence in dict.fromkeys(sentences)
    }
    return [codes[sentence] for sentence in sentences]
