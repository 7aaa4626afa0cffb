"""Rows that depend on an earlier equal row, in memory that does not grow with the corpus.

Rows are written to a temporary file, and 16 bytes of BLAKE2b of each to another (the probability
that two of a billion different rows share them is below 1 in 10^20). These keys are partitioned by
value into buckets that fit into memory; sorting a bucket groups equal keys. Then the rows are read
back. The verdict on each row, one byte, is in a memory-mapped file.

The temporary files have no names, so they disappear with the process, however it ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import IO

import numpy

from tdo_plugin.corpora.description.schema import Deal, Row

BUCKET = 500_000  # mean number of rows in a bucket, in about 50 MB
_BLOCK = 1 << 16  # rows read at a time
_BUFFER = 1 << 20
_KEY = numpy.dtype([("high", "<u8"), ("low", "<u8")])

# (numbers of rows, of the first row equal to each) -> verdict on each
Verdict = Callable[[numpy.ndarray, numpy.ndarray], numpy.ndarray]


def mark_repeats(
    rows: Iterable[Row], scratch: Path, bucket: int = BUCKET
) -> Iterator[tuple[Row, bool]]:
    """Each row in order, with whether the same pair of texts occurred before.

    All rows are read before the first is yielded.

    Args:
        rows: without line breaks in their texts.
        scratch: folder for the temporary files, which are as large as the text.
        bucket: mean number of rows compared at a time.
    """
    return _judged(rows, "\n".join, numpy.not_equal, scratch, bucket)


def dealt(rows: Iterable[Row], deal: Deal, scratch: Path, bucket: int = BUCKET) -> Iterator[Row]:
    """The rows of one part, see `Deal`; arguments as in `mark_repeats`."""

    def ours(_: numpy.ndarray, firsts: numpy.ndarray) -> numpy.ndarray:
        chosen: numpy.ndarray = firsts % deal.parts == deal.part
        return chosen

    judged = _judged(rows, itemgetter(deal.side), ours, scratch, bucket)
    return (row for row, in_part in judged if in_part)


def _judged(
    rows: Iterable[Row],
    text_of: Callable[[Row], str],
    verdict: Verdict,
    scratch: Path,
    bucket: int,
) -> Iterator[tuple[Row, bool]]:
    scratch.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        spool, keys, verdicts = (
            stack.enter_context(tempfile.TemporaryFile(dir=scratch, buffering=_BUFFER))
            for _ in range(3)
        )
        count = 0
        for row in rows:
            count += 1
            spool.write(_bytes("\n".join(row) + "\n"))
            keys.write(blake2b(_bytes(text_of(row)), digest_size=_KEY.itemsize).digest())
            # written, not sparse: on a full disk a mapped hole kills the process
            verdicts.write(b"\0")
        if not count:
            return
        verdicts.flush()
        judged = numpy.memmap(verdicts, dtype=bool, mode="r+", shape=count)
        buckets = -(-count // bucket)
        for number in range(buckets):
            _judge(_portions(keys, buckets, number, 2 * bucket), verdict, judged)
        spool.seek(0)
        lines = (line[:-1].decode("utf-8", "surrogatepass") for line in spool)
        blocks = (judged[start : start + _BLOCK] for start in range(0, count, _BLOCK))
        flags = (flag for block in blocks for flag in block.tolist())
        yield from zip(zip(lines, lines, strict=True), flags, strict=True)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _portions(
    keys: IO[bytes], buckets: int, number: int, most: int
) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """Rows and keys of one bucket, in portions of not much more than `most`.

    Usually there is one portion; a row that is repeated very often makes several.
    """
    keys.seek(0)
    rows_found, keys_found, size, start = [], [], 0, 0
    while content := keys.read(_BLOCK * _KEY.itemsize):
        block = numpy.frombuffer(content, _KEY)
        chosen = numpy.flatnonzero(block["high"] % numpy.uint64(buckets) == number)
        rows_found.append(chosen + start)
        keys_found.append(block[chosen])
        start += len(block)
        size += len(chosen)
        if size > most:
            yield numpy.concatenate(rows_found), numpy.concatenate(keys_found)
            rows_found, keys_found, size = [], [], 0
    if size:
        yield numpy.concatenate(rows_found), numpy.concatenate(keys_found)


def _judge(
    portions: Iterable[tuple[numpy.ndarray, numpy.ndarray]], verdict: Verdict, judged: numpy.ndarray
) -> None:
    """Find the first row with each key of a bucket and write the verdict on every row."""
    first_rows, first_keys = numpy.empty(0, numpy.int64), numpy.empty(0, _KEY)
    for rows, keys in portions:
        rows, keys = numpy.append(first_rows, rows), numpy.append(first_keys, keys)
        # stable, so the first of equal keys is the first row
        order = numpy.lexsort((keys["low"], keys["high"]))
        rows, keys = rows[order], keys[order]
        new = numpy.ones(len(rows), bool)
        new[1:] = keys[1:] != keys[:-1]
        first_rows, first_keys = rows[new], keys[new]
        judged[rows] = verdict(rows, first_rows[numpy.cumsum(new) - 1])
