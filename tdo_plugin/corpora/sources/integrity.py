"""Verifies files by their first bytes, size and checksums."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = 4096  # bytes that distinguish a web page from an archive
BLOCK = 1 << 20
MAGIC = {
    ".gz": b"\x1f\x8b",
    ".tgz": b"\x1f\x8b",
    ".zip": b"PK",
    ".bz2": b"BZh",
    ".xz": b"\xfd7zXZ\x00",
}


@dataclass(frozen=True)
class Expected:
    """The known facts about a file; None if unknown."""

    bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None

    def proves_content(self) -> bool:
        """Whether any changed byte would be detected."""
        return bool(self.sha256 or self.md5)


@dataclass(frozen=True)
class Fingerprint:
    """The facts about an actual file; the MD5 is None if it was not requested."""

    bytes: int
    sha256: str
    md5: str | None


def fingerprint(paths: Sequence[Path], expected: Expected) -> Fingerprint:
    """Size and checksums of concatenated files, the MD5 only if it is expected."""
    size, sha256 = 0, hashlib.sha256()
    md5 = hashlib.md5(usedforsecurity=False) if expected.md5 else None
    for path in paths:
        with path.open("rb") as stream:
            while block := stream.read(BLOCK):
                size += len(block)
                sha256.update(block)
                if md5:
                    md5.update(block)
    return Fingerprint(size, sha256.hexdigest(), md5.hexdigest() if md5 else None)


def difference(actual: Fingerprint, expected: Expected) -> str:
    """The difference between a file and what is expected; "" if there is none."""
    if expected.bytes not in (None, actual.bytes):
        return f"it has {actual.bytes:,} bytes, not {expected.bytes:,}"
    for name, has, expected_digest in (
        ("SHA-256", actual.sha256, expected.sha256),
        ("MD5", actual.md5, expected.md5),
    ):
        if expected_digest not in (None, has):
            return f"its {name} is {has}, not {expected_digest}"
    return ""


def wrong_kind(name: str, head: bytes) -> str:
    """The problem that the first bytes of a file reveal; "" if there is none.

    Abandoned hosts, and hosts that require a click first, answer with a page and status 200.

    Args:
        name: its ending determines the kind of file; with an unknown ending it may be anything
            except a web page.
        head: the first HEAD bytes.
    """
    ending, magic = next(
        ((ending, magic) for ending, magic in MAGIC.items() if name.endswith(ending)), ("", b"")
    )
    if not head:
        return "it is empty"
    if magic and head.startswith(magic):
        return ""
    if re.match(rb"(?:\xef\xbb\xbf)?\s*<", head) and re.search(rb"(?i)<html|<!doctype html", head):
        return f"it is a web page{_title(head)}"
    return f"it is not a {ending} file" if magic else ""


def _title(page: bytes) -> str:
    match = re.search(r"(?is)<title[^>]*>(.*?)</title", page.decode("utf-8", "replace"))
    words = html.unescape(match[1]).split() if match else []
    printable = "".join(letter for letter in " ".join(words) if letter.isprintable())
    return f' ("{printable[:80]}")' if printable else ""


def readable(size: int) -> str:
    """A number of bytes in readable units."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if size >= 10**power:
            return f"{size / 10**power:.1f} {unit}"
    return f"{size} bytes"
