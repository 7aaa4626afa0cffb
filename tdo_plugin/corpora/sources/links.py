"""Asking the addresses of archives whether they still have them, without downloading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tdo_plugin.corpora.description.schema import Archive
from tdo_plugin.corpora.sources.integrity import HEAD, wrong_kind
from tdo_plugin.corpora.sources.sourcefiles import SourceFile, files_of
from tdo_plugin.corpora.sources.web import Refused, ask

ASKED_AT_ONCE = 8
GONE = {404, 410}  # a GET would not find it either


@dataclass(frozen=True)
class LinkStatus:
    """What one address answered.

    Attributes:
        archive: the archive's name.
        file: the same, or the part that is at this address.
        url: the address, "" where none is known.
        code: the HTTP status, None where it did not come to one.
        bytes: the size that the server tells, None where it does not.
        expected: the size that is known of the file, None where none is.
        reason: why the file cannot be had here, "" where it can.
    """

    archive: str
    file: str
    url: str
    code: int | None
    bytes: int | None
    expected: int | None
    reason: str

    @property
    def ok(self) -> bool:
        """Whether the file can be had here, as far as one can tell without downloading it."""
        return not self.reason


def check(archives: Iterable[Archive]) -> Iterator[LinkStatus]:
    """Ask every address of every archive, several at once; the answers come in their order.

    A HEAD request, and where that is refused or may be about a web page, a GET of the first bytes.
    """
    addresses = [
        (archive.name, file, url)
        for archive in archives
        for file in files_of(archive)
        for url in file.urls or ("",)
    ]
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        yield from pool.map(_status, *zip(*addresses, strict=True))


def _status(archive: str, file: SourceFile, url: str) -> LinkStatus:
    code, size = None, None
    reason = "no address is known; --from-file must give it"
    if url:
        try:
            code, size, reason = _asked(url, file.kind)
        except Refused as refused:
            code, reason = refused.code, str(refused)
    expected = file.expected.bytes
    if not reason and expected is not None and size not in (None, expected):
        reason = f"it has {size:,} bytes, not {expected:,}"
    return LinkStatus(archive, file.name, url, code, size, expected, reason)


def _asked(url: str, kind: str) -> tuple[int, int | None, str]:
    """Status, size and what is wrong with the first bytes."""
    try:
        with ask(url, "HEAD") as answer:
            if answer.type != "text/html":
                return answer.status, answer.total, ""
    except Refused as refused:
        if refused.code is None or refused.code in GONE:
            raise
    with ask(url, span=f"0-{HEAD - 1}") as answer:
        return answer.status, answer.total, wrong_kind(kind, answer.read_head(HEAD))
