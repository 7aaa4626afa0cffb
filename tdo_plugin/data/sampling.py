"""Which sentences the joint model is trained on, where that is not all of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")

# SentencePiece holds its text in memory. With unigram each character takes about 24 bytes, as many
# as with BPE where a third of the text are words that come once; so this much takes 1.6 GB.
MOST_CHARACTERS = 1 << 26
_INSIDE_CHARACTERS = bytes(range(0x80, 0xC0))  # all bytes of UTF-8 that begin none


def most_sentences(sides: Sequence[Path]) -> int:
    """How many sentences of a text are `MOST_CHARACTERS`; 0 where the text has no more."""
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
    """Lines of a joint text in which languages have weight by temperature.

    A language that should have more lines than it has is repeated.

    Args:
        sides: files whose names end with their language.
        read: the lines of a file; empty ones do not count. It is read twice.
        sentences: in all, at most as many as there are; 0: as many as there are.
        temperature: see `quotas`.
        seed: for drawing.
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
    """Share `total` among languages in proportion to (N_l / N)^(1 / T).

    The sampling of Arivazhagan et al. (2019, section 4.2). Fractions go to those that have the
    largest.
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
    """Exactly `count` of `size` items in their order, each subset with equal chances.

    Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S), so nothing is
    held. Where more are wanted than there are, all come as often as they can before any is drawn.
    """
    if not size:
        return
    copies, left = divmod(count, size)
    for number, item in enumerate(items):
        chosen = drawn.random() * (size - number) < left
        left -= chosen
        yield from repeat(item, copies + chosen)
