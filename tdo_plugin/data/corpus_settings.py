"""Settings of the embedded corpus: languages, pairs and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tdo_plugin.data.grammar import LANGUAGES, count_meanings
from tdo_plugin.errors import UserError

SHARES = {"test": 32, "valid": 32, "train": 192}
"""The average number out of 256 meanings in each split."""


@dataclass(frozen=True)
class CorpusSettings:
    """The corpus to write.

    ``train`` is the number of sentence pairs for each pair of ``center`` and another language, or a
    mapping from pairs, named as in the files (``en-de``), to numbers; a smaller pair has the first
    lines of what it would have with the largest number. ``valid`` is the number of pairs in the
    same form, ``test`` the number of meanings, which all languages share. With ``share_center`` all
    pairs have the same training meanings, otherwise the pairs' meanings are disjoint.

    Raises:
        UserError: a language is unknown, repeated or missing, a size is too large, or ``train``
            has other pairs than the corpus.
    """

    languages: tuple[str, ...]
    train: int | dict[str, int] = 20000
    valid: int = 500
    test: int = 500
    seed: int = 1
    center: str = "en"
    share_center: bool = False

    def __post_init__(self) -> None:
        available = ", ".join(LANGUAGES)
        for position, language in enumerate(self.languages):
            if language not in LANGUAGES:
                raise UserError(f"`--langs` must be among {available}; it has {language!r}")
            if language in self.languages[:position]:
                raise UserError(f"`--langs` must name each language once; {language} is twice")
        if len(self.languages) < 2:
            named = ",".join(self.languages) or "empty"
            raise UserError(f"`--langs` must name at least two of {available}; it is {named}")
        if self.center not in self.languages:
            listed = ", ".join(self.languages)
            raise UserError(f"`--hub` must be one of `--langs` ({listed}); it is {self.center}")
        pairs = [self.pair(language) for language in self.others]
        if not isinstance(self.train, int) and sorted(self.train) != sorted(pairs):
            raise UserError(
                f"`--train` must be a number, or a number for each of {', '.join(pairs)}; "
                f"it has {', '.join(self.train)}"
            )
        for split, share in SHARES.items():
            sizes = self.sizes(split).values()
            if min(sizes) < 0:
                raise UserError(f"`--{split}` must not be negative; it is {min(sizes)}")
            # 9/10 allows for deviations of the hash from the average share
            most = count_meanings() * share // 256 * 9 // 10 // self.copies(split)
            if max(sizes) > most:
                raise UserError(f"`--{split}` must be at most {most}, from the number of meanings; "
                                f"it is {max(sizes)}")  # fmt: skip

    @property
    def others(self) -> tuple[str, ...]:
        """The languages except the center."""
        return tuple(language for language in self.languages if language != self.center)

    def pair(self, language: str) -> str:
        """The name of the pair of the center and another language."""
        return f"{self.center}-{language}"

    def sizes(self, split: str) -> dict[str, int]:
        """The size of a split by the pair's other language."""
        size = getattr(self, split)
        return {
            language: size if isinstance(size, int) else size[self.pair(language)]
            for language in self.others
        }

    def copies(self, split: str) -> int:
        """The number of disjoint sets of meanings in a split."""
        return len(self.others) if split == "train" and not self.share_center else 1


def parse_languages(text: str) -> Sequence[str]:
    """``en,de,fr`` to its parts; spaces around commas are ignored."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_train(text: str) -> int | dict[str, int]:
    """``300`` to a number, ``en-de=300,en-fr=200`` to a mapping from pairs to numbers.

    Raises:
        UserError: the text has neither form, or repeats a pair.
    """
    try:
        if "=" not in text:
            return int(text)
        parts = [part.partition("=") for part in parse_languages(text)]
        sizes = [(pair.strip(), int(size)) for pair, _, size in parts]
    except ValueError:
        raise UserError(
            "`--train` must be a number, or a number for each pair such as en-de=300,en-fr=200; "
            f"it is {text}"
        ) from None
    if len(dict(sizes)) < len(sizes):
        raise UserError(f"`--train` must name each pair once; it is {text}")
    return dict(sizes)
