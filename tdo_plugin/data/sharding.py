"""A training set that was binarised in parts, as fairseq would have written it whole, or in shards.

fairseq takes several data folders, `DATA:DATA/shard2:...`, and reads one in each epoch, round and
round. A pair has a path of its own through the folders that hold it, which have to be the first
ones. Here sentence i goes to shard i mod S, so that every shard has its part of every pair, and
pairs keep their proportions in every epoch, however they are sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tdo_plugin.data.inventory import HEADER, MAGIC, TYPES


def shard_folders(count: int) -> list[str]:
    """Where shards lie below the data folder, which is the first."""
    return ["", *(f"shard{number}" for number in range(2, count + 1))]


def join_parts(parts: Sequence[Path], targets: Sequence[Path]) -> int:
    """Deal the sentences of `parts`, one after the other, out to `targets`.

    Only one part is in memory at a time. A target that gets no sentence is not written, but for
    the first.

    Args:
        parts: binarised sets (fairseq's mmap), as paths without `.bin` and `.idx`.
        targets: likewise; one for each shard.

    Returns:
        How many sentences there are.
    """
    heads = [_head(part) for part in parts]
    total = sum(sentences for _, sentences in heads)
    for shard, target in enumerate(targets[: max(1, total)]):
        target.parent.mkdir(parents=True, exist_ok=True)
        begin, rows = 0, []
        for _, sentences in heads:
            rows.append(slice((shard - begin) % len(targets), None, len(targets)))
            begin += sentences
        _write(list(zip(parts, rows, strict=True)), heads[0][0], target)
    return total


def _write(chosen: Sequence[tuple[Path, slice]], kind: int, target: Path) -> None:
    """One set of the rows chosen from each part; `kind` is the type of the tokens, see `TYPES`."""
    with target.with_name(f"{target.name}.bin").open("wb") as stream:
        for part, rows in chosen:
            sizes = _sizes(part)
            mine = np.zeros(len(sizes), bool)
            mine[rows] = True
            tokens = np.fromfile(part.with_name(f"{part.name}.bin"), TYPES[kind])
            stream.write(tokens[np.repeat(mine, sizes)].tobytes())
    with target.with_name(f"{target.name}.idx").open("wb") as stream:
        stream.write(
            HEADER.pack(*MAGIC, kind, sum(len(_sizes(part)[rows]) for part, rows in chosen))
        )
        for part, rows in chosen:
            stream.write(_sizes(part)[rows].tobytes())
        place, width = 0, np.dtype(TYPES[kind]).itemsize
        for part, rows in chosen:
            ends = place + np.cumsum(_sizes(part)[rows], dtype=np.int64) * width
            stream.write(np.concatenate(([place], ends))[:-1].astype("<i8").tobytes())
            place = int(ends[-1]) if len(ends) else place


def _head(part: Path) -> tuple[int, int]:
    """The type of the tokens as fairseq numbers it, and the sentences."""
    with part.with_name(f"{part.name}.idx").open("rb") as stream:
        _, _, kind, sentences = HEADER.unpack(stream.read(HEADER.size))
    return kind, sentences


def _sizes(part: Path) -> np.ndarray:
    """Tokens of each sentence, (sentences,)."""
    _, sentences = _head(part)
    return np.fromfile(part.with_name(f"{part.name}.idx"), "<i4", sentences, offset=HEADER.size)
