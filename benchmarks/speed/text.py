"""Sentences for the benchmark: the user's parallel text, or the embedded corpus."""

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

TAG_AND_END, END = 2, 1  # additional symbols of a model's source and target


@dataclass(frozen=True)
class Sentence:
    """A sentence pair in words or pieces, and the languages of its two sides."""

    languages: tuple[str, str]
    source: tuple[str, ...]
    target: tuple[str, ...]

    @property
    def lengths(self) -> tuple[int, int]:
        """Positions of source and target, including the source's tag and end symbols."""
        return len(self.source) + TAG_AND_END, len(self.target) + END

    def followed_by(self, other: Sentence) -> Sentence:
        """This and another sentence as one."""
        return Sentence(self.languages, self.source + other.source, self.target + other.target)


@dataclass(frozen=True)
class Text:
    """A source of sentences.

    Attributes:
        name: a name for reports.
        directions: the directions of the sentences, both ways for each pair.
        read: returns the sentences from the first on; directions alternate.
    """

    name: str
    directions: tuple[tuple[str, str], ...]
    read: Callable[[], Iterator[Sentence]]

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages, in the order of their tags."""
        return tuple(dict.fromkeys(source for source, _ in self.directions))


def embedded(count: int) -> Text:
    """The embedded corpus with English on one side of every sentence.

    Args:
        count: number of languages, at least 2. Beyond the corpus' languages, they are copies of
            these under other names, so that a model has a tag for each.
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
        UserError: the folder is neither.
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
    """Sentences whose sides have about `length` positions, from 5/6 to 7/6 of it.

    Shorter sentences are joined with the next of their direction; too long results are dropped.
    """
    begun: dict[Sequence[str], Sentence] = {}
    for sentence in sentences:
        before = begun.pop(sentence.languages, None)
        whole = before.followed_by(sentence) if before else sentence
        if 6 * min(whole.lengths) >= 5 * length and 6 * max(whole.lengths) <= 7 * length:
            yield whole
        elif 6 * max(whole.lengths) < 5 * length:
            begun[whole.languages] = whole
