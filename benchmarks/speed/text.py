"""Sentences for the benchmark: a user's own parallel text, or the embedded corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from tdo_plugin.data.databin import MARK
from tdo_plugin.data.embedded_corpus import draw
from tdo_plugin.data.grammar import LANGUAGES, linearize
from tdo_plugin.data.textfolder import read_lines, read_text_folder
from tdo_plugin.errors import UserError

TAG_AND_END, END = 2, 1  # what a model's source and target have beside the words


@dataclass(frozen=True)
class Sentence:
    """A sentence pair in words or pieces, and the languages of its two sides."""

    languages: tuple[str, str]
    source: tuple[str, ...]
    target: tuple[str, ...]

    @property
    def lengths(self) -> tuple[int, int]:
        """Positions of source and target, with the tag that the source begins with and the ends."""
        return len(self.source) + TAG_AND_END, len(self.target) + END

    def followed_by(self, other: Sentence) -> Sentence:
        """Both as one sentence."""
        return Sentence(self.languages, self.source + other.source, self.target + other.target)


@dataclass(frozen=True)
class Text:
    """Where sentences come from.

    Attributes:
        name: for people.
        directions: of the sentences, each language's two ways to and from the others.
        read: begins at the first sentence; directions take turns.
    """

    name: str
    directions: tuple[tuple[str, str], ...]
    read: Callable[[], Iterator[Sentence]]

    @property
    def languages(self) -> tuple[str, ...]:
        """All of them, in the order of their tags."""
        return tuple(dict.fromkeys(source for source, _ in self.directions))


def embedded(count: int) -> Text:
    """The embedded corpus with English on one side of every sentence.

    Args:
        count: languages, at least 2. Those beyond the corpus' own are made up: copies of its
            languages under names of their own, so that a model has a tag for each.
    """
    spoken = dict(zip(_names(count), cycle(LANGUAGES), strict=False))
    center, *others = spoken
    ways = [(center, language) for language in others]
    directions = tuple(direction for way in ways for direction in (way, way[::-1]))

    def read() -> Iterator[Sentence]:
        for (source, target), meaning in zip(cycle(directions), draw("train", 1), strict=False):
            sides = (linearize(meaning, spoken[language]).split() for language in (source, target))
            yield Sentence((source, target), *map(tuple, sides))

    return Text("the embedded corpus", directions, read)


def _names(count: int) -> list[str]:
    made_up = (f"{language}{copy}" for copy in range(2, count) for language in LANGUAGES)
    return [*LANGUAGES, *made_up][:count]


def own(folder: Path) -> Text:
    """Training text of a text folder, or the pieces of a data folder.

    Raises:
        UserError: it is neither.
    """
    try:
        corpus = read_text_folder(folder / "pieces" if (folder / MARK).is_file() else folder)
    except UserError as error:
        raise UserError(f"`--data` must be a text folder or a data folder: {error}") from None

    def pair(first: str, second: str) -> Iterator[Sentence]:
        sides = [read_lines(path) for path in corpus.sides("train", (first, second))]
        for number, (line, translation) in enumerate(zip(*sides, strict=True)):
            forth = Sentence((first, second), tuple(line.split()), tuple(translation.split()))
            back = Sentence((second, first), forth.target, forth.source)
            yield back if number % 2 else forth

    def read() -> Iterator[Sentence]:
        waiting = [pair(*names) for names in corpus.pairs]
        while waiting:
            for reader in tuple(waiting):
                if (sentence := next(reader, None)) is None:
                    waiting.remove(reader)
                else:
                    yield sentence

    return Text(folder.resolve().name, tuple(corpus.directions()), read)


def of_length(sentences: Iterator[Sentence], length: int) -> Iterator[Sentence]:
    """Sentences whose two sides have about `length` positions, from 5/6 to 7/6 of it.

    Shorter ones are joined with the next of their direction; what becomes too long is left out.
    """
    begun: dict[Sequence[str], Sentence] = {}
    for sentence in sentences:
        before = begun.pop(sentence.languages, None)
        whole = before.followed_by(sentence) if before else sentence
        if 6 * min(whole.lengths) >= 5 * length and 6 * max(whole.lengths) <= 7 * length:
            yield whole
        elif 6 * max(whole.lengths) < 5 * length:
            begun[whole.languages] = whole
