"""Files as bytes and as lines; what is wrong with them is told by file and line."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, cast

from tdo_plugin.data.textfolder import lines_of
from tdo_plugin.errors import UserError

_GZIP = b"\x1f\x8b"


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if they are gzip, whatever its name.

    Raises:
        UserError: the gzip is damaged or cut off.
    """
    with path.open("rb") as raw:
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        try:
            with gzip.open(raw) if packed else contextlib.nullcontext(raw) as stream:
                yield cast(BinaryIO, stream)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise UserError(f"`{path}` must be whole; unpacking it gave: {error}") from None


def read_lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file, plain or gzip, as `data.textfolder.lines_of` understands lines.

    Raises:
        UserError: the file is not in this encoding, or damaged.
    """
    with (
        open_bytes(path) as raw,
        TextIOWrapper(raw, encoding=encoding, newline="\n") as stream,
    ):
        yield from lines_of(_decoded(stream, path, encoding), f"`{path}`")


def _decoded(stream: Iterable[str], path: Path, encoding: str) -> Iterator[str]:
    number = 0
    try:
        for line in stream:
            number += 1
            yield line
    except UnicodeDecodeError as error:
        # blocks are decoded, so whole lines before the bad bytes have not been given out
        number += 1 + error.object[: error.start].decode(encoding, "ignore").count("\n")
        raise UserError(
            f"`{path}` line {number} must be {encoding.upper()} text; it is not ({error.reason})"
        ) from None


def one_line(text: str) -> str:
    """Text without line breaks and the blanks around them, and without blanks at its ends."""
    return " ".join(filter(None, map(str.strip, text.replace("\r", "\n").split("\n"))))
