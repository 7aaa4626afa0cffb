"""Reading of the lexicon's string tables, and the last touches of a sentence."""

from __future__ import annotations


def table(text: str) -> dict[str, list[str]]:
    """``concept field | field ...``, one entry a line, to ``{concept: [field, ...]}``."""
    entries = {}
    for line in text.strip().splitlines():
        concept, _, rest = line.strip().partition(" ")
        entries[concept] = [field.strip() for field in rest.split("|")]
    return entries


def phrases(text: str) -> dict[str, str]:
    """``concept = phrase; concept = phrase`` to a dictionary."""
    pairs = (item.split("=") for item in " ".join(text.split()).split(";") if item.strip())
    return {concept.strip(): phrase.strip() for concept, phrase in pairs}


def join(*parts: str) -> str:
    """The parts that are not empty, with one space between."""
    return " ".join(part for part in parts if part)


def finish(sentence: str, end: str = ".") -> str:
    """Capital first letter and final punctuation."""
    return sentence[0].upper() + sentence[1:] + end


"""What each language's lexicon must have: the name of its table, and the concepts in it."""
