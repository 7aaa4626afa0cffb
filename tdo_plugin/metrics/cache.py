"""A persistent cache of segment scores for slow metrics, so that each is computed once."""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from tdo_compat.errors import tell

T = TypeVar("T")
Triple = tuple[str | None, str, str]  # source, hypothesis, reference

CHUNK = 1_000  # segments between two writes: the most that an interrupt loses
LOOK_UP = 500  # keys per query; SQLite always supports 999
WAIT = 60.0  # seconds for another process to finish writing
TABLE = (
    "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"
)


def default_cache_path() -> Path:
    """`tdo/scores.sqlite` in $XDG_CACHE_HOME, or in ~/.cache without that variable."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "tdo" / "scores.sqlite"


def segment_key(signature: str, source: str | None, hypothesis: str, reference: str) -> bytes:
    """The SHA-256 of a metric's signature and a segment; None and empty sources differ."""
    digest = hashlib.sha256()
    for field in (signature, source, hypothesis, reference):
        data = b"" if field is None else field.encode("utf-8", "surrogatepass")
        # each field follows its length, so that no text can imitate a field boundary
        digest.update(b"none:" if field is None else b"%d:" % len(data))
        digest.update(data)
    return digest.digest()


class Cache:
    """Scores by `segment_key`, in an SQLite file that several processes may use at once.

    If the file cannot be read or written, one warning is printed and the cache is disabled.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Use the file `path`, which need not exist yet (default: `default_cache_path()`)."""
        self.path = path or default_cache_path()
        self._usable = True

    def get(self, keys: Collection[bytes]) -> dict[bytes, float]:
        """The cached scores among the keys."""

        def look_up(connection: sqlite3.Connection) -> dict[bytes, float]:
            stored: dict[bytes, float] = {}
            remaining = iter(keys)
            while some := list(islice(remaining, LOOK_UP)):
                marks = ",".join("?" * len(some))
                query = f"SELECT key, score FROM scores WHERE key IN ({marks})"
                stored.update(connection.execute(query, some))
            return stored

        return self._work(look_up) or {}

    def put(self, scores: Mapping[bytes, float]) -> None:
        """Store scores, all or (if interrupted) none."""
        # SQLite has no NaN, and NaN scores should be computed again
        rows = [(key, float(score)) for key, score in scores.items() if not math.isnan(score)]
        insert = "INSERT OR REPLACE INTO scores VALUES (?, ?)"
        self._work(lambda connection: connection.executemany(insert, rows))

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """The result of `work`; None once the file has proved unusable."""
        if not self._usable:
            return None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # SQLite's ordinary journal, as its write-ahead log fails on network file systems,
            # where home folders often are
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as connection, connection:
                connection.execute(TABLE)
                return work(connection)
        except (sqlite3.Error, OSError) as error:
            self._usable = False
            tell(f"warning: scores are not cached in {self.path}: {error}")
            return None


def score_through(
    cache: Cache | None,
    signature: str,
    triples: Sequence[Triple],
    compute: Callable[[list[Triple]], Sequence[float]],
    name: str,
) -> np.ndarray:
    """Score segments, computing each distinct segment that is not cached once.

    Args:
        cache: the cache; None computes all segments.
        signature: the metric's signature, with everything that affects a score.
        triples: the segments.
        compute: computes scores of some segments, sorted by reference, so that the many equal
            references in multi-parallel test sets are adjacent.
        name: the metric's name, for the progress bar on a terminal.

    Returns:
        Scores (segments,), in order.
    """
    from tqdm import tqdm

    keys = [segment_key(signature, *triple) for triple in triples]
    by_key = cache.get(set(keys)) if cache else {}
    missing = {key: triple for key, triple in zip(keys, triples, strict=True) if key not in by_key}
    ordered = sorted(missing, key=lambda key: (len(missing[key][2]), missing[key][2]))
    with tqdm(total=len(ordered), desc=name, unit=" segments", disable=None, leave=False) as bar:
        for start in range(0, len(ordered), CHUNK):
            part = ordered[start : start + CHUNK]
            scores = compute([missing[key] for key in part])
            new = dict(zip(part, map(float, scores), strict=True))
            if cache:
                cache.put(new)
            by_key.update(new)
            bar.update(len(part))
    return np.array([by_key[key] for key in keys], dtype=np.float64)
