"""A keyed bijection of ``range(size)``: sampling without repetition and without memory."""

from __future__ import annotations

from hashlib import blake2b
from math import isqrt

_MASK = (1 << 64) - 1
_ROUNDS = 4


def round_keys(*parts: int | str) -> tuple[int, ...]:
    """64-bit keys of the Feistel rounds; the same on every platform for equal ``parts``."""
    digest = blake2b(repr(parts).encode(), digest_size=8 * _ROUNDS).digest()
    return tuple(int.from_bytes(digest[i : i + 8], "little") for i in range(0, 8 * _ROUNDS, 8))


def _mix(value: int) -> int:
    value = (value * 0xBF58476D1CE4E5B9) & _MASK
    value ^= value >> 29
    value = (value * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 32)


def permute(index: int, size: int, keys: tuple[int, ...]) -> int:
    """The image of ``index``; for fixed keys this is a bijection of ``range(size)``.

    A Feistel network on a rectangle of at least ``size`` cells, with sides of about the square root
    of ``size``, applied repeatedly until the result is below ``size``.
    """
    width = isqrt(size - 1) + 1 if size > 1 else 1
    while True:
        left, right = divmod(index, width)
        for position in range(0, _ROUNDS, 2):
            left = (left + _mix(right ^ keys[position])) % width
            right = (right + _mix(left ^ keys[position + 1])) % width
        index = left * width + right
        if index < size:
            return index
