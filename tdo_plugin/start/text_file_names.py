"""The names of text files: what they say of language, format and split."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tdo_plugin.data.textnames import ending_language

_WORDS = {
    "train": "train training",
    "valid": "valid validation val dev devel development newsdev tune",
    "test": "test tests testing devtest newstest",
}
_SPLIT_OF = {word: split for split, words in _WORDS.items() for word in words.split()}
_FORMS = {".tsv": "tsv", ".tmx": "tmx"}
# Endings and columns that name a side instead of a language.
SIDES = {"src": 0, "source": 0, "tgt": 1, "trg": 1, "target": 1}


@dataclass(frozen=True)
class ParsedName:
    """A parsed file name; `stem` is the common part of the names of one text's files."""

    stem: str
    ending: str
    form: str


@dataclass(frozen=True)
class TextFile:
    """A file that may be text: its relative path, its path, its parsed name."""

    name: str
    path: Path
    parsed: ParsedName


def is_text(name: str) -> bool:
    """Whether a file may be parallel text, judged by its name."""
    return parse_name(name) is not None


def parse_name(name: str) -> ParsedName | None:
    """Return the parts of a relative path; None if it does not look like text in a language."""
    path = PurePosixPath(name.removesuffix(".gz"))
    if form := _FORMS.get(path.suffix.lower()):
        return ParsedName(str(path.with_suffix("")), "", form)
    if path.suffix == ".txt":
        path = path.with_suffix("")
    ending = path.suffix[1:]
    if ending not in SIDES and ending_language(ending) is None:
        return None
    return ParsedName(str(path.with_suffix("")), ending, "lines")


def split_of(name: str) -> str | None:
    """Return the split by a word in the file name, else in the name of the nearest folder."""
    for part in reversed(PurePosixPath(name).parts):
        for word in re.findall(r"[a-z]+", part.lower()):
            if word in _SPLIT_OF:
                return _SPLIT_OF[word]
    return None
