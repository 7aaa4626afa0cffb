"""Files as bytes and as lines; errors name file and line."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from tdo_plugin.data.textfolder import lines_of, whole_lines
from tdo_plugin.errors import UserError

_GZIP = b"\x1f\x8b"


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if they are gzip, whatever its name.

    Raises:
        UserError: the gzip data is damaged or truncated.
    """
    with path.open("rb") as raw:
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        try:
            with gzip.open(raw) if packed else contextlib.nullcontext(raw) as stream:
                yield cast(BinaryIO, stream)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise UserError(f"`{path}` must be complete; unpacking it gave: {error}") from None


def read_lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file, plain or gzip, as defined by `data.textfolder.lines_of`.

    Raises:
        UserError: the file is damaged, or not in this encoding.
    """
    with (
        open_bytes(path) as raw,
        TextIOWrapper(raw, encoding=encoding, newline="\n") as stream,
    ):
        yield from lines_of(_decoded(stream, path, encoding), f"`{path}`")


def _decoded(stream: TextIO, path: Path, encoding: str) -> Iterator[str]:
    number = 0
    try:
        for line in whole_lines(stream, f"`{path}`"):
            number += 1
            yield line
    except UnicodeDecodeError as error:
        # blocks are decoded, so complete lines before the bad bytes have not been yielded
        number += 1 + error.object[: error.start].decode(encoding, "ignore").count("\n")
        raise UserError(
            f"`{path}` line {number} must be {encoding.upper()} text; it is not ({error.reason})"
        ) from None


def one_line(text: str) -> str:
    """Text with line breaks replaced by single spaces, and stripped."""
    return " ".join(filter(None, map(str.strip, text.replace("\r", "\n").split("\n"))))
