"""A web server on this machine that gives files from a folder, well or badly."""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

PAGE = b"<!DOCTYPE html>\n<html><head><title>Nothing here</title></head><body>Gone.</body></html>\n"


@dataclass
class Behaviour:
    """What happens instead of giving the file as it should be given."""

    status: int = 200  # answer with this status and no file
    cut: int | None = None  # send so many bytes only, while Content-Length tells of all
    content: bytes | None = None  # send this with status 200
    type: str = "application/octet-stream"  # the Content-Type
    ranges: bool = True  # whether Range is heeded
    edition: bool = True  # whether an ETag is sent
    length: bool = True  # whether Content-Length is sent
    head: bool = True  # whether HEAD is answered; else it gets 405
    slow: float = 0.0  # seconds before each block of 16 KiB
    times: int | None = None  # so many GETs only; None: all


def page() -> Behaviour:
    """A host that is gone and shows a page for every address, with status 200."""
    return Behaviour(content=PAGE, type="text/html; charset=utf-8")


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str  # as it was asked for, with what stands after the question mark
    span: str  # the Range header, "" where there was none


class Server(ThreadingHTTPServer):
    """Serves `folder` at `address`; a path is a file's name, what stands after "?" included."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder  # may be filled at any time
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.behaviours: dict[str, Behaviour] = {}  # by path, with its slash in front
        self.asked: list[Asked] = []  # all requests so far, in their order
        self._lock = threading.Lock()

    def url(self, path: str) -> str:
        """The address of a file."""
        return f"{self.address}/{path.lstrip('/')}"

    def count(self, path: str) -> int:
        """How often a file was asked for."""
        return sum((each.method, each.path) == ("GET", f"/{path}") for each in self.asked)

    def note(self, method: str, path: str, span: str) -> Behaviour:
        """Remember a request and say how to answer it."""
        with self._lock:
            self.asked.append(Asked(method, path, span))
            behaviour = self.behaviours.get(path, Behaviour())
            if behaviour.times is None or method != "GET":
                return behaviour
            behaviour.times -= 1
            return behaviour if behaviour.times >= 0 else Behaviour()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server for as long as the block runs."""
    server = Server(folder)
    polling = {"poll_interval": 0.02}
    thread = threading.Thread(target=server.serve_forever, kwargs=polling, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers a request to a :class:`Server`."""

    server: Server

    def do_GET(self) -> None:
        span = self.headers.get("Range", "")
        behaviour = self.server.note(self.command, self.path, span)
        path = self.server.folder / unquote(self.path).lstrip("/")
        if behaviour.status != 200:
            return self.send_error(behaviour.status)
        if self.command == "HEAD" and not behaviour.head:
            return self.send_error(405)
        if behaviour.content is None and not path.is_file():
            return self.send_error(404)
        content = path.read_bytes() if behaviour.content is None else behaviour.content
        edition = f'"{path.stat().st_mtime_ns}"' if path.is_file() else '"none"'
        self._send(content, edition, behaviour, span if behaviour.ranges else "")

    do_HEAD = do_GET

    def _send(self, content: bytes, edition: str, behaviour: Behaviour, span: str) -> None:
        start, end = 0, len(content)
        if byte_range := re.fullmatch(r"bytes=(\d+)-(\d*)", span):
            start = int(byte_range[1])
            end = min(end, int(byte_range[2]) + 1) if byte_range[2] else end
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.end_headers()
                return
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
        if self.command == "HEAD":
            return
        part = content[start : end if behaviour.cut is None else start + behaviour.cut]
        with contextlib.suppress(ConnectionError):  # whoever asked has heard enough
            for at in range(0, len(part), 1 << 14):
                time.sleep(behaviour.slow)
                self.wfile.write(part[at : at + (1 << 14)])

    def log_message(self, *_: object) -> None:
        pass
