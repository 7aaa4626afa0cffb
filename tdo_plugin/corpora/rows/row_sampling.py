"""Samples rows, depending only on a seed and the name of the pair."""

from __future__ import annotations

import random
from collections.abc import Container

from tdo_plugin.corpora.description import Pair, Take


def generator(seed: int, pair: Pair, purpose: str) -> random.Random:
    """A random generator for each pair and purpose, so that pairs are independent."""
    return random.Random(f"{seed} {purpose} {'-'.join(pair)}")


def choose(take: Take, total: int, chance: random.Random, taken: Container[int] = ()) -> set[int]:
    """The rows, counted from 0, that are held out of `total`.

    Args:
        take: every nth row, or a number of rows at random.
        total: number of rows.
        chance: see `generator`.
        taken: rows that are already held out.
    """
    free = [number for number in range(total) if number not in taken]
    if take.every is not None:
        return set(free[take.every - 1 :: take.every])
    assert take.rows is not None
    return set(chance.sample(free, min(take.rows, len(free))))
