"""The batches for all systems, and a dictionary for them."""

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

POOL = 40  # batches to sort by length and choose from
BATCHES = 4
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # at the beginning of every fairseq dictionary


def target_tokens(batch: Iterable[Sentence]) -> int:
    """The number of predicted tokens: words and end symbols."""
    return sum(sentence.lengths[1] for sentence in batch)


@cache
def by_tokens(text: Text, length: int, tokens: int) -> tuple[Batch, ...]:
    """`BATCHES` batches with up to `tokens` target tokens, of sentences of about `length`.

    Raises:
        UserError: the text is too short.
    """
    return _batches(text, length, tokens, lambda sentence: sentence.lengths[1])


def pool(text: Text, length: int, tokens: int) -> Batch:
    """The sentences of about `length` of which `by_tokens` makes and chooses its batches."""
    sentences = of_length(text.read(), length)
    return tuple(_up_to(POOL * tokens, sentences, lambda sentence: sentence.lengths[1]))


@cache
def by_sentences(text: Text, length: int, count: int) -> tuple[Batch, ...]:
    """`BATCHES` batches of `count` sentences of about `length`; raises as `by_tokens`."""
    return _batches(text, length, count, lambda _: 1)


def _batches(
    text: Text, length: int, full: int, size: Callable[[Sentence], int]
) -> tuple[Batch, ...]:
    """Batches as fairseq makes them, of sentences sorted by source, then target length."""
    pool = list(_up_to(POOL * full, of_length(text.read(), length), size))
    whole = list(_cut(sorted(pool, key=lambda sentence: sentence.lengths), full, size))
    if len(whole) < BATCHES:
        raise UserError(
            f"`--data` must have text for {BATCHES} batches of sentences of about {length} tokens; "
            f"{text.name} has enough for {len(whole)}"
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
    """Batches of consecutive sentences, without an incomplete last batch."""
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
    """Write a fairseq dictionary of `size` entries including special symbols, without tags.

    It has the most frequent words of the batches, padded with symbols that no sentence has.
    """
    sentences = chain.from_iterable(batches)
    counts = Counter(
        word for sentence in sentences for word in (*sentence.source, *sentence.target)
    )
    words = [word for word, _ in counts.most_common() if word not in SPECIAL]
    filling = (f"unused-{number}" for number in range(size))
    kept = [*words, *filling][: size - len(SPECIAL)]
    write_text(path, (f"{word} 1" for word in kept))
