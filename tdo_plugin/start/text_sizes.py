"""Count lines, words and characters of each file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.start.recognised_text import Text

# Minimum average number of characters per SentencePiece piece in an alphabetic script: English
# words of Multi30k have 5.3 characters with the space, and 1.2 pieces at a vocabulary of 8,000.
CHARACTERS_A_PIECE = 4


@dataclass(frozen=True)
class Size:
    """Size of one language of a text; `alphabet` is the set of its characters."""

    lines: int
    words: int
    characters: int
    alphabet: frozenset[str]

    @property
    def pieces(self) -> float:
        """Estimate the average number of pieces per line."""
        spaced = self.words > self.characters / 20  # false for Chinese, Japanese and Thai
        each = CHARACTERS_A_PIECE if spaced else 1.5
        return self.characters / each / max(1, self.lines)


Sizes = Mapping[str, Mapping[str, Size]]  # by text name and language


def size_of(path: Path) -> Size:
    """Count the text of a file, plain or gzip.

    Raises:
        UserError: the file is not UTF-8, or damaged.
    """
    lines = words = characters = 0
    alphabet: set[str] = set()
    for line in read_lines(path, "utf-8"):
        lines += 1
        words += len(line.split())
        characters += len(line)
        alphabet.update(line)
    return Size(lines, words, characters, frozenset(alphabet))


def sizes_of(texts: Iterable[Text]) -> Sizes:
    """Return the sizes by text name and language.

    Raises:
        UserError: the files of a text differ in their number of lines, or are empty.
    """
    sizes: dict[str, Mapping[str, Size]] = {}
    for text in texts:
        of = {language: size_of(text.files[language]) for language in text.languages}
        if len({size.lines for size in of.values()}) > 1:
            counts = ", ".join(
                f"{text.files[language].name} {size.lines:,}" for language, size in of.items()
            )
            raise UserError(
                f"`TEXT` must have as many lines in each language of a text; {text.name} has: "
                f"{counts}"
            )
        if not next(iter(of.values())).lines:
            raise UserError(f"`TEXT` must have text in its files; {text.name} is empty")
        sizes[text.name] = of
    return sizes
