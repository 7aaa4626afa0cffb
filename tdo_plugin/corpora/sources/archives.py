"""Reads tar and zip archives in one pass: names of files and their content."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError

BLOCK = 1 << 20
_COMPRESSIONS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,  # numbers and names in headers, as a NUL, or bytes that are no text
    NotImplementedError,  # a zip with a compression that Python does not support
    RuntimeError,  # a zip with a password
)

_ZSTANDARD = b"\x28\xb5\x2f\xfd"

Entry = tuple[str, Callable[[], IO[bytes]]]


class _Joined(io.RawIOBase):
    """Concatenated files."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._streams: list[io.FileIO] = []
        try:
            for path in paths:
                self._streams.append(path.open("rb", buffering=0))
        except OSError:
            self.close()
            raise
        sizes = [path.stat().st_size for path in paths]
        self._ends = [*accumulate(sizes)]
        self._starts = [end - size for end, size in zip(self._ends, sizes, strict=True)]
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._ends[-1]}
        if bases[whence] + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))  # as zipfile expects of files
        self._at = bases[whence] + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        number = bisect_right(self._ends, self._at)
        if number == len(self._ends):
            return 0
        stream = self._streams[number]
        stream.seek(self._at - self._starts[number])
        read = stream.readinto(buffer)
        self._at += read
        return read

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        super().close()


def open_joined(paths: Sequence[Path]) -> BinaryIO:
    """Concatenated files as one seekable stream."""
    return io.BufferedReader(_Joined(paths), BLOCK)


@contextmanager
def archive_errors(label: str) -> Iterator[None]:
    """Convert errors of damaged and invalid archives to one line.

    Raises:
        UserError: for the archive.
        OSError: for the disk.
    """
    try:
        yield
    except UserError:
        raise
    except (*_DAMAGE, OSError) as error:
        # gzip and bz2 report damage as an OSError, but without an error number
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"`{label}` must be a complete tar or zip archive; reading it gave: {reason}"
        ) from None


def entries(stream: BinaryIO, left_out: list[str]) -> Iterator[Entry]:
    """The plain files of an archive in order, each with a function that opens it.

    The compression is detected from the first bytes. Links, devices, and names that lead out of the
    folder are left out. An entry can be opened only until the next is requested. The archive is
    read to its end, where its checksum is, so damage anywhere is found.

    Args:
        stream: at the beginning of the archive.
        left_out: gets the names of links and devices, and of files that lead out of the folder.

    Raises:
        Errors that `archive_errors` converts.
    """
    head = stream.read(8)
    stream.seek(0)
    if head.startswith(b"PK"):
        members = _zip_entries(stream, left_out)
    else:
        members = _tar_entries(_decompressed(stream, head), left_out)
    names: set[str] = set()
    for name, open_entry in members:
        path = PurePosixPath(name)
        if not path.name or path.is_absolute() or ".." in path.parts:
            left_out.append(name)
            continue
        if str(path) in names:
            raise tarfile.ReadError(f"it has more than one {shown(str(path))}")
        names.add(str(path))
        yield str(path), open_entry


def _decompressed(stream: BinaryIO, head: bytes) -> IO[bytes]:
    for magic, opener in _COMPRESSIONS.items():
        if head.startswith(magic):
            opened: IO[bytes] = opener(stream)
            return opened
    if head.startswith(_ZSTANDARD):
        raise tarfile.ReadError("it is compressed by Zstandard (`zstd -d` decompresses it)")
    return stream


class _Header(tarfile.TarInfo):
    """A member's header, or the block of zeros, without which an archive does not end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Any:
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:  # tarfile takes some of them for the end
            if type(error).__name__ == "EOFHeaderError":
                raise
            raise tarfile.ReadError(f"{error} at byte {archive.offset}, not its end") from None


def _tar_entries(stream: IO[bytes], left_out: list[str]) -> Iterator[Entry]:
    with tarfile.open(fileobj=stream, mode="r|", bufsize=BLOCK, tarinfo=_Header) as archive:
        for member in archive:
            if member.isreg():
                yield member.name, partial(_opened, archive, member)
            elif not member.isdir():
                left_out.append(f"{member.name} ({'a link' if member.linkname else 'not a file'})")
        assert archive.fileobj is not None
        while rest := archive.fileobj.read(BLOCK):
            if any(rest):
                raise tarfile.ReadError("its end is followed by more, maybe another archive")
    while stream.read(BLOCK):
        pass


def _opened(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(member)
    assert stream is not None  # it is a plain file
    return stream


def _zip_entries(stream: BinaryIO, left_out: list[str]) -> Iterator[Entry]:
    with zipfile.ZipFile(stream) as archive:
        if min((info.header_offset for info in archive.infolist()), default=0):
            raise zipfile.BadZipFile("it begins with something else, maybe another archive")
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir():
                continue
            if kind in (0, stat.S_IFREG):
                yield info.filename, partial(archive.open, info)
            else:
                left_out.append(
                    f"{info.filename} ({'a link' if stat.S_ISLNK(kind) else 'not a file'})"
                )
