"""Parallel texts of a folder, and the user's selection among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

Pair = tuple[str, str]


@dataclass(frozen=True)
class Text:
    """A text in several languages, aligned line by line.

    Attributes:
        name: path below the folder, without the language.
        split: train, valid or test; None if neither the name nor a folder tells.
        files: the file of each language; the same file for all languages of a table.
        form: `lines`, or the table format: `tsv`, `multiway-tsv` or `tmx`.
        apart: languages of a memory whose variants are languages of their own.
        titles: the title of each language's column.
    """

    name: str
    split: str | None
    files: Mapping[str, Path]
    form: str = "lines"
    apart: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """Return the languages in alphabetical order."""
        return tuple(sorted(self.files))

    def pairs(self) -> list[Pair]:
        """Return all pairs of the text's languages."""
        return list(combinations(self.languages, 2))


@dataclass(frozen=True)
class Selection:
    """The user's selection of text in a folder (`--langs`, `--pairs`, `--corpora`).

    Attributes:
        languages: languages to use; () for all.
        pairs: patterns of trained pairs, such as `de-en` or `en-*`, in either order.
        corpora: patterns of names of texts to use; () for all.
    """

    languages: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()

    def takes(self, name: str) -> bool:
        """Whether a text with this name is selected."""
        return not self.corpora or any(fnmatchcase(name, pattern) for pattern in self.corpora)

    def one_pair(self) -> Pair | None:
        """Return the pair if `--pairs` names exactly one pair without a pattern, else None."""
        match = re.fullmatch(r"(\w+)-(\w+)", self.pairs[0]) if len(self.pairs) == 1 else None
        return (match[1], match[2]) if match else None

    def trains(self, pair: Pair) -> bool:
        """Whether a pair is selected for training."""
        names = ("-".join(pair), "-".join(pair[::-1]))
        return not self.pairs or any(
            fnmatchcase(name, pattern) for name in names for pattern in self.pairs
        )


@dataclass
class Found:
    """The texts found in a folder.

    Attributes:
        texts: texts sorted by name.
        unused: name of a file or text -> reason why it is not used.
    """

    texts: list[Text] = field(default_factory=list)
    unused: dict[str, str] = field(default_factory=dict)
