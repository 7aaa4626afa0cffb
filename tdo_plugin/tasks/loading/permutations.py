"""Keyed permutations of many numbers at once, each place computed by itself.

The network is the one that draws the embedded corpus, for arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

ROUNDS = 4


def mix(words: Words) -> Words:
    """Scramble 64-bit words, one to one."""
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(29)
    words *= np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(32))


def permute(places: Words, sizes: Words, keys: Words) -> Words:
    """Where places go under keyed permutations of `range(sizes)`.

    A Feistel network over a square of at least `sizes` cells; what falls outside goes on until it
    falls inside.

    Args:
        places: (n,), each below its size.
        sizes: (n,) or ().
        keys: (ROUNDS, n) or (ROUNDS, 1); equal keys with equal sizes are one permutation.
    """
    sizes = np.broadcast_to(sizes, places.shape)
    keys = np.broadcast_to(keys, (ROUNDS, *places.shape))
    side = np.ceil(np.sqrt(sizes)).astype(np.uint64)
    left, right = np.divmod(places, side)
    for key in keys:
        left, right = right, (left + (mix(right ^ key) >> np.uint64(1))) % side  # no overflow
    result = left * side + right
    if (outside := np.flatnonzero(result >= sizes)).size:
        result[outside] = permute(result[outside], sizes[outside], keys[:, outside])
    return result
