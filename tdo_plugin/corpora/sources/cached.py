"""A file in a cache that all corpora share, downloaded if it is missing or wrong.

    NAME            the file; only complete and verified files have their name
    NAME.sha256     record of the first download if the description has no checksum (JSON)
    .NAME.lock      prevents two processes from downloading the same file at once

Unfinished downloads are stored in the same folder, see `download.py`.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from tdo_plugin.corpora.sources.download import NoAddressLeft, Wanted, download
from tdo_plugin.corpora.sources.integrity import Expected, Fingerprint, difference, fingerprint
from tdo_plugin.corpora.sources.sourcefiles import SourceFile
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json

Say = Callable[[str], None]


def record_path(file: SourceFile, cache: Path) -> Path:
    """The record of the first download of a file without a known checksum."""
    return cache / f"{file.name}.sha256"


def recorded(record: Path) -> Expected:
    """The recorded size and checksum; empty if there is no readable record."""
    try:
        stored = read_json(record)
        return Expected(int(stored["bytes"]), str(stored["sha256"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Expected()


def cached(file: SourceFile, cache: Path, say: Say) -> Path:
    """The path of a file in the cache, after downloading it if it is missing or wrong.

    Raises:
        UserError: there is no address, or all failed; the message has the reason for each.
        OSError: the cache cannot be read or written.
    """
    target = cache / file.name
    if target.is_file() and not _wrong(file, target, say):
        return target
    if not file.urls:
        raise UserError(
            f"`--from-file` must provide {file.description()}, since it has no known address "
            f"({file.source})"
        )
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(target, say):
        if target.is_file():
            wrong = _wrong(file, target, say)
            if not wrong:
                return target
            say(f"{target}: {wrong}; downloading it again")
        _download(file, target, say)
    return target


def _wrong(file: SourceFile, path: Path, say: Say) -> str:
    """The problem of a file in the cache."""
    actual = fingerprint([path], file.expected)
    wrong = difference(actual, file.expected)
    if wrong or file.expected.proves_content():
        return wrong
    before = recorded(record_path(file, path.parent))
    wrong = difference(actual, before)
    if not wrong:
        note = "as in its first download" if before.sha256 else "no checksum is known"
        say(f"{path}: SHA-256 {actual.sha256}, {note}")
    return wrong


def _download(file: SourceFile, target: Path, say: Say) -> None:
    record = record_path(file, target.parent)
    expected = file.expected
    before = Expected() if expected.proves_content() else recorded(record)
    if before.sha256:
        expected = Expected(expected.bytes or before.bytes, before.sha256)

    def remember(url: str, actual: Fingerprint) -> None:
        if before.sha256:
            say(f"{file.name}: SHA-256 {actual.sha256}, as in its first download")
        elif not expected.proves_content():
            _record(record, url, actual)
            say(f"{file.name}: SHA-256 {actual.sha256}, recorded in {record} for later downloads")

    try:
        download(Wanted(target, file.kind, file.urls, expected), say, remember)
    except NoAddressLeft as reasons:
        hint = f" (without {record} another file would be accepted)" if before.sha256 else ""
        raise UserError(
            f"`--from-file` must provide {file.description()}, since none of its addresses has it; "
            f"{reasons}{hint}"
        ) from None


def _record(path: Path, url: str, actual: Fingerprint) -> None:
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    content = {"bytes": actual.bytes, "sha256": actual.sha256, "url": url, "when": when}
    write_text(path, [json.dumps(content, indent=2)])


@contextmanager
def _alone(target: Path, say: Say) -> Iterator[None]:
    """Wait until no other process is downloading the file."""
    with target.with_name(f".{target.name}.lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{target.name}: another process is downloading it; waiting")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
