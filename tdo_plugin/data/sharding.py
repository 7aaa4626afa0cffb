"""Joins a training set that was binarised in parts, as fairseq would have written it, or in shards.

fairseq takes several data folders, `DATA:DATA/shard2:...`, and reads one per epoch in rotation. The
folders with a pair must be the first ones. Here sentence i goes to shard i mod S, so that every
shard has its part of every pair and the proportions of pairs are the same in every epoch, however
they are sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tdo_compat.binarised import HEADER, MAGIC, TYPES, Side, open_side


def shard_folders(count: int) -> list[str]:
    """The locations of shards in the data folder, which is the first shard."""
    return ["", *(f"shard{number}" for number in range(2, count + 1))]


def join_parts(parts: Sequence[Path], targets: Sequence[Path]) -> int:
    """Distribute the sentences of `parts`, in order, over `targets`.

    Only the tokens of one part are in memory at a time. A target without sentences is not written,
    except the first.

    Args:
        parts: binarised sets (fairseq's mmap), as paths without `.bin` and `.idx`.
        targets: the same, one for each shard.

    Returns:
        The number of sentences.
    """
    sides = [open_side(str(part)) for part in parts]
    lengths, kind = [side.sizes for side in sides], sides[0].tokens.dtype
    total = sum(map(len, lengths))
    for shard, target in enumerate(targets[: max(1, total)]):
        target.parent.mkdir(parents=True, exist_ok=True)
        begin, rows = 0, []
        for sizes in lengths:
            rows.append(slice((shard - begin) % len(targets), None, len(targets)))
            begin += len(sizes)
        with _file(target, "bin").open("wb") as stream:
            for side, chosen in zip(sides, rows, strict=True):
                stream.write(_tokens(side, chosen).tobytes())
        taken = [sizes[chosen] for sizes, chosen in zip(lengths, rows, strict=True)]
        _write_index(taken, kind, _file(target, "idx"))
    return total


def _file(prefix: Path, suffix: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{suffix}")


def _tokens(side: Side, rows: slice) -> np.ndarray:
    """The tokens of the chosen rows."""
    chosen = np.zeros(len(side.sizes), bool)
    chosen[rows] = True
    taken: np.ndarray = side.tokens[np.repeat(chosen, side.sizes)]
    return taken


def _write_index(lengths: Sequence[np.ndarray], kind: np.dtype, path: Path) -> None:
    """Write the index of concatenated sentences, with their offsets in bytes."""
    with path.open("wb") as stream:
        (code,) = [code for code, name in TYPES.items() if np.dtype(name) == kind]
        stream.write(HEADER.pack(*MAGIC, code, sum(map(len, lengths))))
        for sizes in lengths:
            stream.write(sizes.tobytes())
        place, width = 0, kind.itemsize
        for sizes in lengths:
            ends = place + np.cumsum(sizes, dtype=np.int64) * width
            stream.write(np.concatenate(([place], ends))[:-1].astype("<i8").tobytes())
            place = int(ends[-1]) if len(ends) else place
