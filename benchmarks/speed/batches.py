"""The batches that all systems get, and a dictionary for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from speed.text import Sentence, Text, of_length
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text

Batch = tuple[Sentence, ...]

POOL = 40  # batches that are sorted by length, of which some are taken
BATCHES = 4
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # at the head of every fairseq dictionary


def target_tokens(batch: Iterable[Sentence]) -> int:
    """Tokens that are predicted: words and ends."""
    return sum(sentence.lengths[1] for sentence in batch)


@cache
def by_tokens(text: Text, length: int, tokens: int) -> tuple[Batch, ...]:
    """`BATCHES` batches of up to so many target tokens, of sentences of about `length`.

    Raises:
        UserError: the text is too short.
    """
    return _batches(text, length, tokens, lambda sentence: sentence.lengths[1])


@cache
def by_sentences(text: Text, length: int, count: int) -> tuple[Batch, ...]:
    """`BATCHES` batches of `count` sentences, likewise."""
    return _batches(text, length, count, lambda _: 1)


def _batches(
    text: Text, length: int, full: int, size: Callable[[Sentence], int]
) -> tuple[Batch, ...]:
    """Batches as fairseq makes them: a batch has neighbours in the order of source, then target."""
    pool = list(_up_to(POOL * full, of_length(text.read(), length), size))
    whole = list(_cut(sorted(pool, key=lambda sentence: sentence.lengths), full, size))
    if len(whole) < BATCHES:
        raise UserError(
            f"`--data` must have text for {BATCHES} batches of sentences of about {length} tokens; "
            f"{text.name} has it for {len(whole)}"
        )
    return tuple(whole[(2 * n + 1) * len(whole) // (2 * BATCHES)] for n in range(BATCHES))


def _up_to(
    most: int, sentences: Iterator[Sentence], size: Callable[[Sentence], int]
) -> Iterator[Sentence]:
    for sentence in sentences:
        most -= size(sentence)
        if most < 0:
            return
        yield sentence


def _cut(pool: Sequence[Sentence], full: int, size: Callable[[Sentence], int]) -> Iterator[Batch]:
    """Neighbours together; a last batch that is not full is left out."""
    batch: list[Sentence] = []
    held = 0
    for sentence in pool:
        if held + size(sentence) > full:
            yield tuple(batch)
            batch, held = [], 0
        batch.append(sentence)
        held += size(sentence)
    if held == full:
        yield tuple(batch)


def write_dictionary(path: Path, batches: Iterable[Batch], size: int) -> None:
    """A fairseq dictionary of `size` entries with the special ones, without tags.

    The batches' words come first, the most frequent of them; what is left is filled with symbols
    that no sentence has.
    """
    sentences = chain.from_iterable(batches)
    counts = Counter(
        word for sentence in sentences for word in (*sentence.source, *sentence.target)
    )
    words = [word for word, _ in counts.most_common() if word not in SPECIAL]
    filling = (f"unused-{number}" for number in range(size))
    kept = [*words, *filling][: size - len(SPECIAL)]
    write_text(path, (f"{word} 1" for word in kept))
