"""A synchronous grammar: abstract meanings, linearised in seven languages.

Meanings are numbered; `meaning_at` returns the meaning of a number in an order that depends on a
seed, and `linearize` gives its sentence in a language. Needs no network, files or much memory.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tdo_plugin.data.grammar.meaning import NP, Clause, Loc, Meaning
from tdo_plugin.data.grammar.space import count_meanings, kind_sizes, locate, meaning_at

LANGUAGES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "ru": "Russian",
    "tr": "Turkish",
    "ja": "Japanese",
}
"""Language code to English name."""

_LINEARIZERS: dict[str, Callable[[Clause], str]] = {
    code: import_module(f"{__name__}.{code}").linearize for code in LANGUAGES
}


def linearize(meaning: Meaning, language: str) -> str:
    """The sentence of a meaning.

    Raises:
        KeyError: ``language`` is not one of `LANGUAGES`.
    """
    return _LINEARIZERS[language](meaning.clause)


__all__ = [
    "LANGUAGES",
    "NP",
    "Clause",
    "Loc",
    "Meaning",
    "count_meanings",
    "kind_sizes",
    "linearize",
    "locate",
    "meaning_at",
]
