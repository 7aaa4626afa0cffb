"""One question to one address, and in a few words why it was not answered."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tdo_plugin import __version__

TIMEOUT = 20.0  # seconds without a byte, after which a connection counts as broken
PASSING = {408, 425, 429}  # beside 5xx: the same question may be answered later


class Refused(Exception):
    """An address did not give what it should.

    Attributes:
        code: the HTTP status, None where it did not come to one.
        lasting: whether asking again is in vain.
    """

    def __init__(self, reason: str, code: int | None = None, lasting: bool = False) -> None:
        super().__init__(reason)
        self.code = code
        self.lasting = lasting


@dataclass(frozen=True)
class Answer:
    """What an address has.

    Attributes:
        status: 200 for all of the file, 206 for some of it.
        start: where in the file the body begins.
        total: bytes of the whole file; None where the server does not say.
        edition: the ETag, else the date of the last change, "" where the server tells neither.
        type: what the server takes it for, as text/html.
    """

    status: int
    start: int
    total: int | None
    edition: str
    type: str
    _response: http.client.HTTPResponse = field(repr=False)

    def read(self, size: int) -> bytes:
        """Some bytes as soon as there are any, at most `size`; none at the end of what comes.

        Raises:
            Refused: the connection broke.
        """
        with _refusals():
            return self._response.read1(size)

    def read_head(self, size: int) -> bytes:
        """The next bytes, fewer than `size` only at the end of what comes.

        Raises:
            Refused: the connection broke.
        """
        head = b""
        while len(head) < size and (more := self.read(size - len(head))):
            head += more
        return head


@contextmanager
def ask(url: str, method: str = "GET", span: str | None = None) -> Iterator[Answer]:
    """Ask an address; the body is read through the answer.

    Args:
        url: http or https.
        method: GET or HEAD.
        span: bytes to ask for, "FIRST-LAST" or "FIRST-"; the server may send all the same.

    Raises:
        Refused: no connection, or a status that is not 200 or 206.
    """
    # bytes are wanted as they are stored, or a .gz might come without its compression
    headers = {"User-Agent": f"tdo_plugin/{__version__}", "Accept-Encoding": "identity"}
    if span:
        headers["Range"] = f"bytes={span}"
    with _refusals():
        request = urllib.request.Request(url, headers=headers, method=method)
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    with response:
        yield _answer(response)


def _answer(response: http.client.HTTPResponse) -> Answer:
    headers = response.headers
    start, total = 0, _number(headers.get("Content-Length"))
    if response.status == 206:
        span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", "").strip())
        if span is None:
            raise Refused("sent a part of the file without saying which", 206, lasting=True)
        start, total = int(span[1]), _number(span[2])
    elif response.status != 200:
        raise Refused(f"HTTP {response.status} {response.reason}", response.status, lasting=True)
    edition = headers.get("ETag") or headers.get("Last-Modified") or ""
    return Answer(response.status, start, total, edition, headers.get_content_type(), response)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        lasting = error.code < 500 and error.code not in PASSING
        raise Refused(f"HTTP {error.code} {error.reason}", error.code, lasting) from None
    except urllib.error.URLError as error:
        raise Refused(_words(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise Refused(_words(error)) from None
    except UnicodeError as error:
        raise Refused(f"not an address that can be asked ({error})", lasting=True) from None


def _words(reason: object) -> str:
    """An error of the network in a few words."""
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return " ".join(text.split())
