"""Which rows are drawn, by a seed and the name of the pair alone."""

from __future__ import annotations

import random
from collections.abc import Container, Iterable, Iterator
from typing import TypeVar

from tdo_plugin.corpora.description import Pair, Take

Any_ = TypeVar("Any_")


def generator(seed: int, pair: Pair, purpose: str) -> random.Random:
    """A generator of its own for each pair and purpose, so that no pair depends on another."""
    return random.Random(f"{seed} {purpose} {'-'.join(pair)}")


def draw(rows: Iterable[Any_], total: int, wanted: int, chance: random.Random) -> Iterator[Any_]:
    """`wanted` of `total` rows in their order, every choice as likely as any other.

    Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): a row is
    taken with the probability that is left for it, so nothing is kept in memory.

    Args:
        rows: in any number of types.
        total: how many there are.
        wanted: how many of them; all where there are fewer.
        chance: see `generator`.
    """
    left = min(wanted, total)
    for number, row in enumerate(rows):
        if chance.random() * (total - number) < left:
            left -= 1
            yield row


def choose(take: Take, total: int, chance: random.Random, taken: Container[int] = ()) -> set[int]:
    """The rows, counted from 0, that are held out of `total`.

    Args:
        take: every so manieth, or so many at random.
        total: how many rows there are.
        chance: see `generator`.
        taken: rows that are held out already.
    """
    free = [number for number in range(total) if number not in taken]
    if take.every is not None:
        return set(free[take.every - 1 :: take.every])
    assert take.rows is not None
    return set(chance.sample(free, min(take.rows, len(free))))
