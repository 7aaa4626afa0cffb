"""Checks binarised sets before they are used, since files may be damaged.

``file_patches`` makes fairseq's own loading call these checks, too.

A side of a set, ``train.en-de.en``, is two files of fairseq's ``--dataset-impl mmap``:

    .idx    magic, version, type of the tokens, sentences; then the length of each sentence in
            tokens (int32) and its offset in .bin in bytes (int64)
    .bin    the concatenated tokens of all sentences, each with its end symbol

Errors are one line that names the set, the file and, if there is one, the sentence, counted from 1.
"""

from __future__ import annotations

import functools
import mmap
import os
import re
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdo_compat.digests import BLOCK, CHEAP, DamagedData, check_digests, damaged, dictionary_of

HEADER = struct.Struct("<9sQBQ")  # magic, version, type of the tokens, sentences
MAGIC = b"MMIDIDX\x00\x00", 1
OTHER_MAGIC = (b"TNTIDX\x00\x00", b"HUFFIDX\x00")  # of other formats that fairseq reads
TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2", 9: "<u4", 10: "<u8"}
SPECIALS = 4  # <s>, <pad>, </s> and <unk> precede the words of a dictionary
END = 2
SENTENCES = 1 << 18  # of an index that are checked at a time
_SIDE = re.compile(r"(.+\.)([^.-]+)-([^.-]+)\.([^.-]+)")


@dataclass(frozen=True)
class Words:
    """The valid tokens of a side.

    Attributes:
        count: of the dictionary's entries; tokens are below.
        end: the token that ends each sentence.
    """

    count: int
    end: int = END


@dataclass(frozen=True)
class Side:
    """One side of a set, memory-mapped, with a valid index.

    Attributes:
        prefix: path of the two files, without `.idx` and `.bin`.
        sizes: (sentences,) int32, tokens of each with its end.
        places: (sentences,) int64, offset of each in `.bin`, in bytes.
        tokens: (tokens,) of the file's type.
    """

    prefix: str
    sizes: NDArray[Any]
    places: NDArray[Any]
    tokens: NDArray[Any]

    @property
    def is_small(self) -> bool:
        """Whether all of its tokens are checked when it is opened."""
        return bool(self.tokens.nbytes <= CHEAP)

    def check_tokens(self, words: Words) -> None:
        """Check every token.

        Raises:
            DamagedData: a token is not in the dictionary, or a sentence lacks its end.
        """
        width = BLOCK // self.tokens.itemsize
        for begin in range(0, len(self.tokens), width):
            block = self.tokens[begin : begin + width]
            if int(block.max()) < words.count and int(block.min()) >= 0:
                continue
            first = begin + int(np.argmax((block >= words.count) | (block < 0)))
            place = first * self.tokens.itemsize
            number = int(np.searchsorted(self.places, place, side="right")) - 1
            raise _unknown(self.prefix, number, int(self.tokens[first]), words)
        if not len(self.sizes):
            return
        ends = self.tokens[self.places // self.tokens.itemsize + self.sizes - 1]
        if (endless := np.flatnonzero(ends != words.end)).size:
            raise _endless(self.prefix, int(endless[0]))


def check_sentence(prefix: str, number: int, tokens: NDArray[Any], words: Words) -> None:
    """Check one sentence of a side that is too large to be checked as a whole.

    Args:
        prefix: see `Side`.
        number: of the sentence, from 0.
        tokens: (tokens,), at least one.
        words: the valid tokens.

    Raises:
        DamagedData: as in `Side.check_tokens`.
    """
    if tokens[-1] != words.end:
        raise _endless(prefix, number)
    if int(tokens.max()) >= words.count or int(tokens.min()) < 0:
        wrong = (tokens >= words.count) | (tokens < 0)
        raise _unknown(prefix, number, int(tokens[wrong][0]), words)


def check_side(prefix: str, dictionary: Any = None, whole: bool = False) -> Side:
    """Open a side and check everything that is quick to check.

    This includes the index, the number of sentences in the set's other side, and for files up to
    `CHEAP` bytes every token and the digest.

    Args:
        prefix: see `Side`.
        dictionary: fairseq's, for tokens; None: tokens are not checked.
        whole: check the tokens of larger files, too.

    Raises:
        DamagedData: a check failed.
        OSError: a file cannot be read.
    """
    side = open_side(prefix)
    check_other_side(prefix, len(side.sizes))
    if dictionary is not None and (whole or side.is_small):
        words = words_of(prefix, dictionary)
        assert words is not None  # since there is a dictionary
        side.check_tokens(words)
    check_digests(prefix)
    return side


def open_side(prefix: str) -> Side:
    """Map both files and check the index.

    Raises:
        DamagedData: the index is not fairseq's, or is inconsistent with itself or the tokens.
        OSError: a file cannot be read.
    """
    kind, count = _read_header(prefix)
    size, expected = os.path.getsize(f"{prefix}.idx"), HEADER.size + 12 * count
    if size != expected:
        raise damaged(
            prefix, "idx", f"it has {size} bytes, but {expected} for its {count} sentences"
        )
    with open(f"{prefix}.idx", "rb") as stream:
        index = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    sizes = np.frombuffer(index, "<i4", count, HEADER.size)
    places = np.frombuffer(index, "<i8", count, HEADER.size + sizes.nbytes)
    total = os.path.getsize(f"{prefix}.bin")
    _check_index(prefix, sizes, places, kind.itemsize, total)
    index.madvise(mmap.MADV_DONTNEED)  # the check read all of it; keep it in the cache only
    # an empty file cannot be mapped
    tokens = np.memmap(f"{prefix}.bin", mode="r") if total else np.empty(0, np.uint8)
    return Side(prefix, sizes, places, np.frombuffer(tokens, kind))


def count_sentences(prefix: str) -> int:
    """The number of sentences of a side, from its index's header.

    Raises:
        DamagedData: the index is not fairseq's.
        OSError: the file cannot be read.
    """
    return _read_header(prefix)[1]


def _read_header(prefix: str) -> tuple[np.dtype[Any], int]:
    """Type of the tokens, and number of sentences."""
    with open(f"{prefix}.idx", "rb") as stream:
        head = stream.read(HEADER.size)
    if not head:
        raise damaged(prefix, "idx", "it is empty")
    magic, version, code, count = HEADER.unpack(head.ljust(HEADER.size, b"\0"))
    if (magic, version) != MAGIC or code not in TYPES:
        raise damaged(prefix, "idx", "it is not an index of fairseq (--dataset-impl mmap)")
    if len(head) < HEADER.size:
        raise damaged(prefix, "idx", f"it has {len(head)} bytes, its header alone {HEADER.size}")
    return np.dtype(TYPES[code]), count


def _check_index(
    prefix: str, sizes: NDArray[Any], places: NDArray[Any], width: int, total: int
) -> None:
    """Check that sentences are not empty and follow each other, and that the last ends the file.

    Args:
        prefix: see `Side`.
        sizes: see `Side`.
        places: see `Side`.
        width: bytes of a token.
        total: bytes of all tokens.
    """
    end = 0
    for begin in range(0, len(sizes), SENTENCES):  # in blocks, to save memory
        lengths, begins = (part[begin : begin + SENTENCES] for part in (sizes, places))
        if (empty := np.flatnonzero(lengths < 1)).size:
            number = int(empty[0])
            raise damaged(prefix, "idx", f"its length is {lengths[number]}", begin + number)
        ends = begins + lengths.astype(np.int64) * width
        turns = np.concatenate(([end], ends[:-1]))
        if (gaps := np.flatnonzero(begins != turns)).size:
            number = int(gaps[0])
            what = f"it begins at byte {begins[number]}, the previous one ends at {turns[number]}"
            raise damaged(prefix, "idx", what, begin + number)
        end = int(ends[-1])
    if total != end:
        raise damaged(prefix, "bin", f"it has {total} bytes, but {end} by its index")


def check_other_side(prefix: str, count: int) -> None:
    """Compare the numbers of sentences of a pair's sides; a missing side is reported elsewhere.

    Raises:
        DamagedData: the numbers differ.
    """
    match = _SIDE.fullmatch(os.path.basename(prefix))
    if match is None:
        return
    start, source, target, language = match.groups()
    if language not in (source, target) or source == target:
        return
    opposite = target if language == source else source
    other_side = os.path.join(os.path.dirname(prefix), f"{start}{source}-{target}.{opposite}")
    if os.path.isfile(f"{other_side}.idx") and (sentences := _read_header(other_side)[1]) != count:
        raise damaged(prefix, "idx", f"it has {count} sentences, {other_side}.idx {sentences}")


# --- the dictionary ----------------------------------------------------------------------------


def words_of(prefix: str, dictionary: Any = None) -> Words | None:
    """The valid tokens of a side, from the dictionary that it was binarised with.

    This is the dictionary in its folder. The dictionary in use also has tags, which text lacks.

    Args:
        prefix: see `Side`.
        dictionary: fairseq's, the one in use.

    Returns:
        None if there is neither.
    """
    path = dictionary_of(prefix)
    counts = [] if dictionary is None else [len(dictionary)]
    if os.path.isfile(path):
        status = os.stat(path)
        counts.append(SPECIALS + _lines(path, status.st_mtime_ns, status.st_size))
    end = END if dictionary is None else dictionary.eos()
    return Words(min(counts), end) if counts else None


@functools.lru_cache(maxsize=1024)
def _lines(path: str, *_: int) -> int:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return sum(1 for _ in stream)


# --- fairseq's own loading ---------------------------------------------------------------------


def check_before_loading(module: Any) -> None:
    """Make fairseq's ``make_dataset`` check the files that it opens.

    Args:
        module: fairseq.data.indexed_dataset, changed in place.
    """
    original = module.make_dataset

    @functools.wraps(original)
    def make_dataset(
        path: str, impl: str | None, fix_lua_indexing: bool = False, dictionary: Any = None
    ) -> Any:
        if module.MMapIndexedDataset.exists(path):  # two files, of any format
            if impl == "mmap":
                side = check_side(path, dictionary, whole=True)
                if not len(side.sizes):  # fairseq cannot map it
                    raise damaged(path, "bin", "it is empty")
            elif impl in (None, "cached", "lazy") and not _is_of_another_kind(path):
                _read_header(path)
                raise DamagedData(f"`--dataset-impl` must be mmap for {path}.idx; it is {impl}")
        return original(path, impl, fix_lua_indexing, dictionary)

    module.make_dataset = make_dataset


def _is_of_another_kind(prefix: str) -> bool:
    with open(f"{prefix}.idx", "rb") as stream:
        return stream.read(8) in OTHER_MAGIC


# --- messages ----------------------------------------------------------------------------------


def _unknown(prefix: str, number: int, token: int, words: Words) -> DamagedData:
    what = f"its token {token} is not in the dictionary of {words.count}"
    return damaged(prefix, "bin", what, number)


def _endless(prefix: str, number: int) -> DamagedData:
    return damaged(prefix, "bin", "its end symbol is missing", number)
