"""Classes of a vocabulary's types (TPDM, figure 2, table 4): punctuation, number, capital, script.

The paper only names its classes; here they are determined by the Unicode properties of a piece's
characters. Classes overlap: a capitalised Russian piece is in `capital` and in `Cyrillic`.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Mapping, Sequence

import regex
import torch
from torch import Tensor

KINDS = ("capital", "number", "punctuation")

# the scripts of the papers' languages, by Unicode name
SCRIPTS = (
    *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Han", "Hiragana", "Katakana", "Hangul"),
    *("Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada"),
    *("Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Ethiopic"),
    *("Armenian", "Georgian", "Mongolian", "Thaana", "Tifinagh"),
)
_SCRIPT = regex.compile("|".join(rf"(?P<{name}>\p{{Script={name}}})" for name in SCRIPTS))


def surface(piece: str) -> str:
    """The characters of a piece, without SentencePiece's word-start mark, subword-nmt's
    continuation mark and Moses's escapes.
    """
    return html.unescape(piece.replace("▁", "").removesuffix("@@"))


def kinds_of(piece: str) -> tuple[str, ...]:
    """The `KINDS` of a piece.

    `capital`: its first letter is upper-case; `number`: only digits (any Unicode number);
    `punctuation`: only punctuation and symbols.
    """
    categories = [unicodedata.category(char) for char in surface(piece)]
    letters = [category for category in categories if category.startswith("L")]
    kinds = {
        "capital": letters[:1] in (["Lu"], ["Lt"]),
        "number": bool(categories) and all(category.startswith("N") for category in categories),
        "punctuation": bool(categories) and all(category[0] in "PS" for category in categories),
    }
    return tuple(name for name, holds in kinds.items() if holds)


def script_of(piece: str) -> str | None:
    """The script of a piece's first character with one of `SCRIPTS`."""
    match = _SCRIPT.search(surface(piece))
    return str(match.lastgroup) if match else None


def classes_of_types(symbols: Sequence[str]) -> dict[str, Mapping[str, Tensor]]:
    """Membership (V,) of every type of a vocabulary, by group and class.

    Args:
        symbols: V pieces, by id.

    Returns:
        `kind` with all `KINDS`, and `script` with the scripts that occur.
    """
    kinds = [kinds_of(symbol) for symbol in symbols]
    scripts = [script_of(symbol) for symbol in symbols]
    return {
        "kind": {
            name: torch.tensor([name in piece_kinds for piece_kinds in kinds]) for name in KINDS
        },
        "script": {
            name: torch.tensor([name == script for script in scripts])
            for name in SCRIPTS
            if name in scripts
        },
    }
