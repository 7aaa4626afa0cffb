"""Downloads a file from the first of several addresses that has it; can resume."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tdo_compat.errors import named_when_full
from tdo_plugin.corpora.sources.integrity import (
    BLOCK,
    HEAD,
    Expected,
    Fingerprint,
    difference,
    fingerprint,
    readable,
    wrong_kind,
)
from tdo_plugin.corpora.sources.partial import Origin, Partial
from tdo_plugin.corpora.sources.web import Answer, Refused, ask

TRIES = 3  # rounds through the addresses
PAUSE = 1.0  # seconds before the second round; doubled before each further round
LINE_EVERY = 60.0  # seconds between progress lines without a terminal

Say = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """A file to download to `target`; see `SourceFile` for the other attributes."""

    target: Path
    kind: str
    urls: tuple[str, ...]
    expected: Expected


class NoAddressLeft(Exception):
    """No address had the file; the message has each address with its reason."""


def download(request: Wanted, say: Say, before_naming: Callable[[str, Fingerprint], None]) -> None:
    """Download a file; it gets its name only when its size and checksums are verified.

    Args:
        request: the file, with its addresses.
        say: gets a line for each address that is tried and for each that fails.
        before_naming: called with the address and the result, before the file gets its name.

    Raises:
        NoAddressLeft: no address had it.
        OSError: it cannot be written; the partial file is kept for the next time.
    """
    partial = Partial(request.target)
    left = list(request.urls)
    reasons: dict[str, str] = {}
    for again in range(TRIES):
        if again:
            time.sleep(PAUSE * 2 ** (again - 1))
        for url in [*left]:
            try:
                actual = _while_more_comes(request, url, partial, say)
            except Refused as refused:
                reasons[url] = f"{url}: {refused}"
                say(reasons[url])
                if refused.lasting:
                    left.remove(url)
            else:
                before_naming(url, actual)
                partial.finish()
                return
        if not left:
            break
    raise NoAddressLeft("; ".join(reasons.values()))


def _while_more_comes(request: Wanted, url: str, partial: Partial, say: Say) -> Fingerprint:
    """Download from one address, again as long as each attempt brings more bytes."""
    while True:
        before = partial.size
        try:
            resumed = _transfer(request, url, partial, say)
            return _proven(request, partial, resumed)
        except Refused as refused:
            if refused.lasting or partial.size <= before:
                raise
            say(f"{url}: {refused}; trying again")
            time.sleep(PAUSE)


def _proven(request: Wanted, partial: Partial, resumed: bool) -> Fingerprint:
    actual = fingerprint([partial.path], request.expected)
    wrong = difference(actual, request.expected)
    if wrong:
        partial.discard()
        # two halves may not fit together; a single download may be right
        raise Refused(wrong, lasting=not resumed)
    return actual


def _transfer(request: Wanted, url: str, partial: Partial, say: Say) -> bool:
    """Complete the partial file; returns whether it contains bytes of earlier attempts."""
    start, origin = partial.usable(url, request.expected), partial.origin
    if start and origin is not None and start == origin.total:
        return True
    try:
        with ask(url, span=f"{start}-" if start else None) as answer:
            if answer.status == 200:
                _from_the_start(answer, request, url, partial, say)
                return False
            _check_size(answer, request.expected)
            if start and origin is not None and origin.goes_on(answer, start, url):
                say(f"{url}: resuming after {readable(start)} of {readable(origin.total or 0)}")
                _append(answer, partial, start, say)
                return True
    except Refused as refused:
        if refused.code != 416 or origin is None or origin.url != url:
            raise
    partial.discard()
    raise Refused("the partial file is of another edition")


def _from_the_start(answer: Answer, request: Wanted, url: str, partial: Partial, say: Say) -> None:
    head = answer.read_head(HEAD)
    if len(head) < min(HEAD, answer.total or 0):
        raise _too_short(len(head), answer)
    wrong = wrong_kind(request.kind, head)
    if wrong:
        raise Refused(wrong, answer.status, lasting=True)
    _check_size(answer, request.expected)
    size = readable(answer.total) if answer.total is not None else "of unknown size"
    say(f"{url} ({size})")
    partial.begin(Origin(url, answer.total, answer.edition))
    _append(answer, partial, 0, say, head)


def _check_size(answer: Answer, expected: Expected) -> None:
    if None not in (answer.total, expected.bytes) and answer.total != expected.bytes:
        wrong = f"it has {answer.total:,} bytes, not {expected.bytes:,}"
        raise Refused(wrong, answer.status, lasting=True)


def _too_short(size: int, answer: Answer) -> Refused:
    return Refused(f"the connection ended after {size:,} of {answer.total:,} bytes")


def _append(answer: Answer, partial: Partial, start: int, say: Say, head: bytes = b"") -> None:
    """Append the answer's body, after `head`.

    Raises:
        Refused: it ended too early.
        OSError: there is no space left, or it cannot be written for another reason.
    """
    total, size = answer.total, start
    if total is not None and shutil.disk_usage(partial.path.parent).free < total - start:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(partial.path))
    name = partial.path.stem
    whole = named_when_full(partial.path)
    with whole, partial.path.open("ab") as stream, _progress(name, start, total, say) as advance:
        block = head or answer.read(BLOCK)
        while block:
            stream.write(block)
            size += len(block)
            advance(len(block))
            block = answer.read(BLOCK)
    if total is not None and size != total:
        raise _too_short(size, answer)


@contextmanager
def _progress(
    name: str, start: int, total: int | None, say: Say
) -> Iterator[Callable[[int], object]]:
    """A function to call with numbers of bytes; shows a bar on a terminal, else a line at times."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        how = {"unit": "B", "unit_scale": True, "leave": False, "dynamic_ncols": True}
        with tqdm(total=total, initial=start, desc=name, **how) as bar:
            yield bar.update
        return
    done, last_report = start, time.monotonic()

    def advance(more: int) -> None:
        nonlocal done, last_report
        done += more
        if time.monotonic() - last_report >= LINE_EVERY:
            last_report = time.monotonic()
            say(f"{name}: {readable(done)}" + (f" of {readable(total)}" if total else ""))

    yield advance
