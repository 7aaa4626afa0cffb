"""How much text there is: lines, words and characters of each file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.start.recognition import Text

# characters that a piece of a SentencePiece model has on average in an alphabet, at least: English
# words of Multi30k have 5.3 with their space, and 1.2 pieces at 8,000 entries
CHARACTERS_A_PIECE = 4


@dataclass(frozen=True)
class Size:
    """Of one language of one text; `alphabet` are its characters."""

    lines: int
    words: int
    characters: int
    alphabet: frozenset[str]

    @property
    def pieces(self) -> float:
        """An estimate of how many pieces a line has."""
        spaced = self.words > self.characters / 20  # not so in Chinese, Japanese, Thai
        each = CHARACTERS_A_PIECE if spaced else 1.5
        return self.characters / each / max(1, self.lines)


Sizes = Mapping[str, Mapping[str, Size]]  # by the text's name and the language


def size_of(path: Path) -> Size:
    """Read a file, plain or gzip.

    Raises:
        UserError: it is not UTF-8, or damaged.
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
    """Sizes by the text's name and the language.

    Raises:
        UserError: files of a text that have different numbers of lines, or none.
    """
    sizes: dict[str, Mapping[str, Size]] = {}
    for text in texts:
        of = {language: size_of(text.files[language]) for language in text.languages}
        if len({size.lines for size in of.values()}) > 1:
            counts = ", ".join(
                f"{text.files[language].name} {size.lines:,}" for language, size in of.items()
            )
            raise UserError(
                f"`FOLDER` must have as many lines in each language of a text; {text.name} has: "
                f"{counts}"
            )
        if not next(iter(of.values())).lines:
            raise UserError(f"`FOLDER` must have text in its files; {text.name} is empty")
        sizes[text.name] = of
    return sizes
