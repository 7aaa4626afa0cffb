"""Samples sentences to train the joint model on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")

# SentencePiece holds its text in memory. Unigram takes about 24 bytes per character, as does BPE if
# a third of the text consists of words that occur once; so this number takes 1.6 GB.
MOST_CHARACTERS = 1 << 26
_INSIDE_CHARACTERS = bytes(range(0x80, 0xC0))  # UTF-8 continuation bytes


def most_sentences(sides: Sequence[Path]) -> int:
    """The number of sentences with `MOST_CHARACTERS` in total; 0 if the text has no more."""
    lines = characters = 0
    for path in sides:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                lines += block.count(b"\n")
                characters += len(block.translate(None, _INSIDE_CHARACTERS))
    return lines * MOST_CHARACTERS // characters if characters > MOST_CHARACTERS else 0


def sample(
    sides: Sequence[Path],
    read: Callable[[Path], Iterator[str]],
    sentences: int,
    temperature: float,
    seed: int,
) -> Iterator[str]:
    """Lines of a joint text, with languages weighted by temperature.

    A language that should have more lines than it has is repeated.

    Args:
        sides: files whose names end with their language.
        read: the lines of a file, without empty ones; called twice.
        sentences: total number, at most as many as there are; 0: as many as there are.
        temperature: see `quotas`.
        seed: of the random draws.
    """
    files: dict[str, list[Path]] = {}
    for path in sides:
        files.setdefault(path.suffix.removeprefix("."), []).append(path)

    def lines(language: str) -> Iterator[str]:
        return filter(None, chain.from_iterable(map(read, files[language])))

    sizes = {language: sum(1 for _ in lines(language)) for language in files}
    total = sum(sizes.values())
    counts = quotas(sizes, min(sentences or total, total), temperature)
    for language, size in sizes.items():
        drawn = random.Random(f"{seed} {language}")
        yield from draw(lines(language), size, counts[language], drawn)


def quotas(sizes: Mapping[str, int], total: int, temperature: float) -> dict[str, int]:
    """Divide `total` among languages in proportion to (N_l / N)^(1 / T).

    The sampling of Arivazhagan et al. (2019, section 4.2), rounded by largest remainders.
    """
    largest = max(sizes.values())
    weights = {name: (size / largest) ** (1 / temperature) for name, size in sizes.items()}
    scale = total / sum(weights.values())
    exact = {language: weight * scale for language, weight in weights.items()}
    result = {language: int(share) for language, share in exact.items()}
    by_fraction = Counter({language: exact[language] - result[language] for language in exact})
    for language, _ in by_fraction.most_common(total - sum(result.values())):
        result[language] += 1
    return result


def draw(items: Iterable[Item], size: int, count: int, drawn: random.Random) -> Iterator[Item]:
    """Exactly `count` of `size` items in order, every subset with equal probability.

    Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S), without
    storing items. If `count` exceeds `size`, whole copies are used and only the rest is drawn.
    """
    if not size:
        return
    copies, left = divmod(count, size)
    for number, item in enumerate(items):
        chosen = drawn.random() * (size - number) < left
        left -= chosen
        yield from repeat(item, copies + chosen)
