"""Digests of a data folder's files, and messages about damaged ones.

A folder's marker file, such as ``prepared.json``, has digests of the files that were made, and of
itself. This module imports nothing large, since commands import it even for --help.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from typing import Any

CHEAP = 32 << 20  # bytes up to which a file is checked as a whole when opened (30 milliseconds)
BLOCK = 1 << 22

# marker files with the digests of a folder's files, including their own, under "digests"; for
# shards and references they are in the folder above
MARKS = ("prepared.json", "monolingual.json", "back-translated.json")
DIGESTS = "digests"
_BELOW = re.compile(r"shard\d+|reference")


class DamagedData(ValueError):
    """A binarised set has changed. Shown as one line, without a traceback."""

    one_line = True


def check_digests(prefix: str) -> None:
    """Compare a side's files with their digests when the folder was made.

    Checked are its two files, up to `CHEAP` bytes, and its dictionary. Older folders have no
    digests.

    Args:
        prefix: see `Side`.

    Raises:
        DamagedData: a file differs.
    """
    for path in (f"{prefix}.idx", f"{prefix}.bin", dictionary_of(prefix)):
        expected = _digest_of(path)
        if expected is None or not os.path.isfile(path):
            continue
        status = os.stat(path)
        if status.st_size > CHEAP or _sha256(path, status.st_mtime_ns, status.st_size) == expected:
            continue
        raise _changed(path)


def check_folder(root: str) -> int:
    """Compare all files with digests in a folder's marker file.

    Args:
        root: the folder, not one of its shards.

    Returns:
        The number of files; 0 for older folders.

    Raises:
        DamagedData: a file differs or is missing.
    """
    recorded = {
        name: digest for mark in MARKS for name, digest in digests(os.path.join(root, mark)).items()
    }
    for name, expected in recorded.items():
        path = os.path.join(root, name)
        if not os.path.isfile(path):
            raise DamagedData(f"`data` must have intact files; {path} is missing")
        if name not in MARKS and sha256(path) != expected:  # markers are checked when read
            raise _changed(path)
    return len(recorded)


def check_file(path: str) -> None:
    """Compare a small file of a folder, such as a list, with its digest, as in `check_digests`."""
    expected = _digest_of(path)
    if expected is not None and os.path.isfile(path) and sha256(path) != expected:
        raise _changed(path)


def seal(content: dict[str, Any]) -> str:
    """The digest of a marker file's content except this digest itself, which is part of it."""
    file_digests = {
        name: digest for name, digest in content.get(DIGESTS, {}).items() if name not in MARKS
    }
    text = json.dumps({**content, DIGESTS: file_digests}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def dictionary_of(prefix: str) -> str:
    language = prefix.rpartition(".")[2]
    return os.path.join(os.path.dirname(prefix), f"dict.{language}.txt")


def _digest_of(path: str) -> str | None:
    """The recorded digest of a file; None if there is none, as in older folders."""
    folder, name = os.path.split(os.path.abspath(path))
    roots = {folder: name}
    if _BELOW.fullmatch(os.path.basename(folder)):
        roots[os.path.dirname(folder)] = f"{os.path.basename(folder)}/{name}"
    for root, below in roots.items():
        for mark in MARKS:
            if (digest := digests(os.path.join(root, mark)).get(below)) is not None:
                return digest
    return None


def digests(mark: str) -> dict[str, str]:
    """The recorded digests by relative path; empty if there are none.

    Raises:
        DamagedData: the marker file is unreadable.
    """
    try:
        status = os.stat(mark)
    except OSError:
        return {}
    return _digests(mark, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=64)
def _digests(mark: str, *_: int) -> dict[str, str]:
    try:
        with open(mark, encoding="utf-8") as stream:
            content = json.load(stream)
    except (ValueError, RecursionError):
        content = None
    recorded = content.get(DIGESTS, {}) if isinstance(content, dict) else None
    if not isinstance(recorded, dict) or not all(
        isinstance(digest, str) for digest in recorded.values()
    ):
        raise DamagedData(f"`data` must have intact files; {mark} is damaged: it has no digests")
    if recorded.get(os.path.basename(mark), seal(content)) != seal(content):
        raise _changed(mark)
    return recorded


def sha256(path: str) -> str:
    """The SHA-256 digest of a file's content."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


@functools.lru_cache(maxsize=1024)
def _sha256(path: str, *_: int) -> str:
    return sha256(path)


# --- messages ---------------------------------------------------------------------------------


def _changed(path: str) -> DamagedData:
    what = "it has changed since the folder was made"
    if path.endswith((".idx", ".bin")):
        prefix, suffix = os.path.splitext(path)
        return damaged(prefix, suffix[1:], what)
    return DamagedData(f"`data` must have intact files; {path} is damaged: {what}")


def damaged(prefix: str, suffix: str, what: str, number: int | None = None) -> DamagedData:
    """An error about a file, or about one of its sentences (from 0)."""
    name = os.path.basename(prefix).rpartition(".")[0] or os.path.basename(prefix)
    where = f"{prefix}.{suffix} of set {name} is damaged"
    sentence = "" if number is None else f"sentence {number + 1}: "
    return DamagedData(f"`data` must have intact files; {where}: {sentence}{what}")
