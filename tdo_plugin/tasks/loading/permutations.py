"""Keyed permutations of many numbers at once; each position is computed independently.

The network is that of the embedded corpus (:mod:`tdo_plugin.data.embedded_corpus`), on arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

ROUNDS = 4


def mix(words: Words) -> Words:
    """Scramble 64-bit words with a bijection."""
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(29)
    words *= np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(32))


def permute(places: Words, sizes: Words, keys: Words) -> Words:
    """Map positions by keyed permutations of `range(sizes)`.

    A Feistel network on a square of at least `sizes` cells, applied repeatedly until the result is
    below the size.

    Args:
        places: (n,), each below its size.
        sizes: (n,) or ().
        keys: (ROUNDS, n) or (ROUNDS, 1); equal keys and sizes give the same permutation.
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
