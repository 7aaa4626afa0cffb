"""Splitting text into sentences, since models are trained on single sentences.

Rules, not a model (ours): a line ends a sentence; so does `.`, `!`, `?` and their like in other
scripts, where a space and a letter that is not lower case follow. The word before it must have at
least three letters, so that `z. B.`, `Dr.` and initials end nothing. Chinese and Japanese marks need
no space.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

CLOSING = r"[\"'»”’›)\]]*"
END = regex.compile(
    rf"(?<=(?:\p{{L}}{{3}}|\p{{N}})[.!?…؟।։]{CLOSING})\s+(?=[\"'«“„‘‹(\[¿¡]*[\p{{Lu}}\p{{Lo}}\p{{N}}])"
    r"|(?<=[。！？][」』”）]*)(?![。！？」』”）\s])(?=.)"
)
JOINED = "。！？」』）"  # sentences of Chinese and Japanese are joined without a space


def sentences_by_line(text: str) -> list[list[str]]:
    """The sentences of each line of text; an empty line has none."""
    return [
        [sentence.strip() for sentence in END.split(line) if sentence and sentence.strip()]
        for line in text.splitlines()
    ]


def joined_by_line(lines: Sequence[Sequence[str]]) -> str:
    """The inverse of `sentences_by_line`, for translations of the sentences."""
    return "\n".join(_joined(line) for line in lines)


def _joined(sentences: Sequence[str]) -> str:
    text = ""
    for sentence in sentences:
        apart = " " if text and sentence and text[-1] not in JOINED else ""
        text += apart + sentence
    return text
