"""One request to one address, with short reasons for failures."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tdo_plugin import __version__

TIMEOUT = 20.0  # seconds without data after which a connection counts as broken
PASSING = {408, 425, 429}  # in addition to 5xx: the same request may succeed later


class Refused(Exception):
    """A request failed.

    Attributes:
        code: the HTTP status, None if there was none.
        lasting: whether trying again is pointless.
    """

    def __init__(self, reason: str, code: int | None = None, lasting: bool = False) -> None:
        super().__init__(reason)
        self.code = code
        self.lasting = lasting


@dataclass(frozen=True)
class Answer:
    """The answer of an address.

    Attributes:
        status: 200 for the whole file, 206 for a part.
        start: offset of the body in the file.
        total: size of the whole file in bytes; None if the server does not report it.
        edition: the ETag, or the date of the last change, or "" if the server reports neither.
        type: the content type that the server reports, such as text/html.
    """

    status: int
    start: int
    total: int | None
    edition: str
    type: str
    _response: http.client.HTTPResponse = field(repr=False)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes as soon as any are available; empty at the end.

        Raises:
            Refused: the connection broke.
        """
        with _refusals():
            return self._response.read1(size)

    def read_head(self, size: int) -> bytes:
        """The next bytes, fewer than `size` only at the end.

        Raises:
            Refused: the connection broke.
        """
        head = b""
        while len(head) < size and (more := self.read(size - len(head))):
            head += more
        return head


@contextmanager
def ask(url: str, method: str = "GET", span: str | None = None) -> Iterator[Answer]:
    """Send a request; the body is read through the answer.

    Args:
        url: http or https.
        method: GET or HEAD.
        span: byte range, "FIRST-LAST" or "FIRST-"; the server may send everything.

    Raises:
        Refused: there is no connection, or a status other than 200 or 206.
    """
    # without transfer compression, which would decompress a .gz file
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
            raise Refused("sent a part of the file without its range", 206, lasting=True)
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
        raise Refused(f"not a valid address ({error})", lasting=True) from None


def _words(reason: object) -> str:
    """A network error in a few words."""
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return " ".join(text.split())
