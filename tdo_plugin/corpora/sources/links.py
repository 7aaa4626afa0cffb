"""Checks the addresses of archives without downloading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tdo_plugin.corpora.description.schema import Archive
from tdo_plugin.corpora.sources.integrity import HEAD, wrong_kind
from tdo_plugin.corpora.sources.sourcefiles import SourceFile, files_of
from tdo_plugin.corpora.sources.web import Refused, ask

ASKED_AT_ONCE = 8
GONE = {404, 410}  # a GET would fail as well


@dataclass(frozen=True)
class LinkStatus:
    """The result for one address.

    Attributes:
        archive: the archive's name.
        file: the same, or the part at this address.
        url: the address, "" if none is known.
        code: the HTTP status, None if there was none.
        bytes: the size that the server reports, or None.
        expected: the known size of the file, or None.
        reason: why the file is not available here, "" if it is.
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
        """Whether the file is available here, as far as can be determined without downloading."""
        return not self.reason


def check(archives: Iterable[Archive]) -> Iterator[LinkStatus]:
    """Check every address of every archive, several at a time; results are in order.

    Sends a HEAD request; if it is refused, or may be for a web page, a GET of the first bytes.
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
    reason = "it has no known address; --from-file must provide it"
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
    """Status, size, and the problem of the first bytes."""
    try:
        with ask(url, "HEAD") as answer:
            if answer.type != "text/html":
                return answer.status, answer.total, ""
    except Refused as refused:
        if refused.code is None or refused.code in GONE:
            raise
    with ask(url, span=f"0-{HEAD - 1}") as answer:
        return answer.status, answer.total, wrong_kind(kind, answer.read_head(HEAD))
