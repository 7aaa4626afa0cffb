"""A web server on this machine that gives files from a folder, well or badly."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

PAGE = b"<!DOCTYPE html>\n<html><head><title>Nothing here</title></head><body>Gone.</body></html>\n"


@dataclass
class Behaviour:
    """What happens instead of giving the file as it should be given.

    Attributes:
        status: answer with this status and no file.
        cut: send so many bytes only, while Content-Length tells of all.
        content: send this with status 200.
        type: the Content-Type.
        ranges: whether Range is heeded.
        edition: whether an ETag is sent.
        length: whether Content-Length is sent.
        head: whether HEAD is answered; else it gets 405.
        slow: seconds before each block of 16 KiB.
        times: so many GETs only; None: all.
    """

    status: int = 200
    cut: int | None = None
    content: bytes | None = None
    type: str = "application/octet-stream"
    ranges: bool = True
    edition: bool = True
    length: bool = True
    head: bool = True
    slow: float = 0.0
    times: int | None = None


def page() -> Behaviour:
    """A host that is gone and shows a page for every address, with status 200."""
    return Behaviour(content=PAGE, type="text/html; charset=utf-8")


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str  # as it was asked for, with what stands after the question mark
    span: str  # the Range header, "" where there was none


class Server:
    """Serves `folder` at `address`; a path is a file's name, what stands after "?" included.

    Attributes:
        folder: may be filled at any time.
        address: http://127.0.0.1:PORT, without a slash at the end.
        behaviours: path, with its slash in front -> what happens there.
        asked: all requests so far, in their order.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.behaviours: dict[str, Behaviour] = {}
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def url(self, path: str) -> str:
        """The address of a file."""
        return f"{self.address}/{path.lstrip('/')}"

    def count(self, path: str, method: str = "GET") -> int:
        """How often a path was asked for."""
        absolute = "/" + path.lstrip("/")
        return sum((request.method, request.path) == (method, absolute) for request in self.asked)

    def note(self, method: str, path: str, span: str) -> Behaviour:
        """Remember a request and say how to answer it."""
        with self._lock:
            self.asked.append(Asked(method, path, span))
            behaviour = self.behaviours.get(path, Behaviour())
            if behaviour.times is None or method != "GET":
                return behaviour
            behaviour.times -= 1
            return behaviour if behaviour.times >= 0 else Behaviour()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server for as long as the block runs."""
    server = Server(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, body: bool) -> None:
            span = self.headers.get("Range", "")
            behaviour = server.note(self.command, self.path, span)
            path = server.folder / unquote(self.path).lstrip("/")
            if behaviour.status != 200:
                return self.send_error(behaviour.status)
            if not body and not behaviour.head:
                return self.send_error(405)
            if behaviour.content is None and not path.is_file():
                return self.send_error(404)
            content = path.read_bytes() if behaviour.content is None else behaviour.content
            edition = f'"{path.stat().st_mtime_ns}"' if path.is_file() else '"none"'
            self._send(content, edition, behaviour, span if behaviour.ranges else "", body)

        def _send(
            self, content: bytes, edition: str, behaviour: Behaviour, span: str, body: bool
        ) -> None:
            start, end = 0, len(content)
            if byte_range := re.fullmatch(r"bytes=(\d+)-(\d*)", span):
                start = int(byte_range[1])
                end = min(end, int(byte_range[2]) + 1) if byte_range[2] else end
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    return self.end_headers()
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
            else:
                self.send_response(200)
            if behaviour.edition:
                self.send_header("ETag", edition)
            if behaviour.length:
                self.send_header("Content-Length", str(end - start))
            self.send_header("Content-Type", behaviour.type)
            self.end_headers()
            if body:
                part = content[start : end if behaviour.cut is None else start + behaviour.cut]
                self._stream(part, behaviour.slow)

        def _stream(self, content: bytes, slow: float) -> None:
            try:
                for at in range(0, len(content), 1 << 14):
                    time.sleep(slow)
                    self.wfile.write(content[at : at + (1 << 14)])
            except ConnectionError:
                pass  # whoever asked has heard enough

        def log_message(self, *_: object) -> None:
            pass

    return Handler
