"""Checking text and splitting it into sentences, since models are trained on single sentences.

Rules, not a model (ours): a line ends a sentence; so does `.`, `!`, `?` and their like in other
scripts, where a space and a letter that is not lower case follow. The word before it must have at
least three letters, so that `z. B.`, `Dr.` and initials end nothing. Marks of Chinese and Japanese
need no space.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from tdo_plugin.errors import UserError

# marks of the Latin, Arabic, Indic and Armenian scripts; of Chinese and Japanese; and quotes
SPACED = r"[.!?\u2026\u061f\u0964\u0589]"
UNSPACED = r"\u3002\uff01\uff1f"
CLOSING = r"[\"'\u00bb\u201d\u2019\u203a)\]]"
OPENING = r"[\"'\u00ab\u201c\u201e\u2018\u2039(\[\u00bf\u00a1]"
CLOSING_UNSPACED = r"\u300d\u300f\uff09"
END = regex.compile(
    rf"(?<=(?:\p{{L}}{{3}}|\p{{N}}){SPACED}{CLOSING}*)\s+(?={OPENING}*[\p{{Lu}}\p{{Lo}}\p{{N}}])"
    rf"|(?<=[{UNSPACED}][{CLOSING_UNSPACED}]*)(?![{UNSPACED}{CLOSING_UNSPACED}\s])(?=.)"
)
JOINS = regex.compile(rf"[{UNSPACED}{CLOSING_UNSPACED}]\Z")  # no space follows


SHOWN = 40  # characters of a text in a message


def check_unicode(name: str, text: str) -> None:
    """Raise UserError for text with half of a surrogate pair.

    JSON can have one as an escape, and a command line's byte that is not UTF-8 becomes one.

    Args:
        name: of the option or field.
        text: its value.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"`{name}` must be valid Unicode; it is {text[:SHOWN]!a}") from None


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
        apart = " " if text and sentence and not JOINS.search(text) else ""
        text += apart + sentence
    return text
