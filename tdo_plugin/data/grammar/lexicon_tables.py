"""Parses the lexicon's string tables, and finishes sentences."""

from __future__ import annotations


def table(text: str) -> dict[str, list[str]]:
    """Parse ``concept field | field ...``, an entry per line, to ``{concept: [field, ...]}``."""
    entries = {}
    for line in text.strip().splitlines():
        concept, _, rest = line.strip().partition(" ")
        entries[concept] = [field.strip() for field in rest.split("|")]
    return entries


def phrases(text: str) -> dict[str, str]:
    """Parse ``concept = phrase; concept = phrase`` to a dictionary."""
    pairs = (item.split("=") for item in " ".join(text.split()).split(";") if item.strip())
    return {concept.strip(): phrase.strip() for concept, phrase in pairs}


def join(*parts: str) -> str:
    """The non-empty parts, separated by spaces."""
    return " ".join(part for part in parts if part)


def finish(sentence: str, end: str = ".") -> str:
    """Capital first letter and final punctuation."""
    return sentence[0].upper() + sentence[1:] + end


"""The tables that each language's lexicon must have, with their concepts."""
