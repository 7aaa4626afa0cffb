"""Stores the sentences of valid and test sets, to exclude them from training text."""

from __future__ import annotations

import unicodedata
from array import array
from collections import defaultdict
from hashlib import blake2b

import numpy

from tdo_plugin.corpora.description.schema import Pair, Row


class HeldOut:
    """The sentences of valid and test sets by language, and their pairs.

    Stored are 64 bits of BLAKE2b of each, in about 16 bytes. The probability that a different
    sentence shares its bits with one of n held-out ones is n / 2^64: with a million held out, 1 in
    1.8 * 10^13 for each training sentence.
    """

    def __init__(self) -> None:
        self._sentences: defaultdict[str, _Numbers] = defaultdict(_Numbers)
        self._rows: defaultdict[Pair, _Numbers] = defaultdict(_Numbers)

    def add(self, language: str, text: str) -> None:
        """Add a sentence, ignoring case and spaces; blank text is not added."""
        if plain := _plain(text):
            self._sentences[language].add(_number(plain))

    def add_pair(self, pair: Pair, row: Row) -> None:
        """Add a row of a pair, exactly as it is."""
        self._rows[pair].add(_number("\n".join(row)))

    def has_side(self, pair: Pair, row: Row) -> bool:
        """Whether a side of the row is, ignoring case and spaces, a stored sentence."""
        for language, text in zip(pair, row, strict=True):
            sentences = self._sentences.get(language)
            if sentences is not None and number_of(text) in sentences:
                return True
        return False

    def has_pair(self, pair: Pair, row: Row) -> bool:
        """Whether this exact row of the pair is stored."""
        rows = self._rows.get(pair)
        return rows is not None and _number("\n".join(row)) in rows


class _Numbers:
    """A set of random 64-bit numbers in about 16 bytes each; a few recent ones take more.

    The numbers are sorted, and `_starts` has the start of each group with the same leading bits, of
    one or two numbers.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted = array("Q")
        self._starts = array("Q", [0, 0])
        self._shift = 64

    def add(self, number: int) -> None:
        self._recent.add(number)
        if len(self._recent) > 256 + len(self._sorted) // 16:
            recent = numpy.fromiter(self._recent, numpy.uint64)
            merged = numpy.union1d(numpy.asarray(self._sorted), recent)
            self._shift = 64 - (len(merged).bit_length() - 1)
            leading = numpy.arange(1 << 64 - self._shift, dtype=numpy.uint64)
            starts = numpy.searchsorted(merged, leading << numpy.uint64(self._shift))
            self._starts = array("Q", [*starts.tolist(), len(merged)])
            self._sorted = array("Q", merged.tobytes())
            self._recent = set()

    def __contains__(self, number: int) -> bool:
        place = number >> self._shift
        near = self._sorted[self._starts[place] : self._starts[place + 1]]
        return number in near or number in self._recent


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def number_of(sentence: str) -> int:
    """64 bits of a hash of a sentence, ignoring case, spaces and the composition of letters."""
    return _number(_plain(sentence))


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
