"""Is a file what it is said to be: its first bytes, its size, its checksums."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = 4096  # bytes that tell a web page from an archive
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
    """What is known of a file beforehand; None: nothing."""

    bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None

    def proves_content(self) -> bool:
        """Whether a wrong byte would be noticed."""
        return bool(self.sha256 or self.md5)


@dataclass(frozen=True)
class Fingerprint:
    """What a file has; the MD5 is None where it was not asked for."""

    bytes: int
    sha256: str
    md5: str | None


def fingerprint(paths: Sequence[Path], expected: Expected) -> Fingerprint:
    """The size and checksums of files read as one, the MD5 only where it is expected."""
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
    """Where a file differs from what is expected, "" where it does not."""
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
    """What the first bytes of a file give away, "" where they fit.

    Hosts that are gone, and those that ask for a click first, answer with a page and status 200.

    Args:
        name: its ending says what kind of file it is; one without a meaning may be anything but a
            web page.
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
    return f"it is no {ending} file" if magic else ""


def _title(page: bytes) -> str:
    match = re.search(r"(?is)<title[^>]*>(.*?)</title", page.decode("utf-8", "replace"))
    words = html.unescape(match[1]).split() if match else []
    printable = "".join(letter for letter in " ".join(words) if letter.isprintable())
    return f' ("{printable[:80]}")' if printable else ""


def readable(size: int) -> str:
    """A number of bytes as people say it."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if size >= 10**power:
            return f"{size / 10**power:.1f} {unit}"
    return f"{size} bytes"
