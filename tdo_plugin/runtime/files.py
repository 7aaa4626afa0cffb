"""Files: digests, and atomic writing."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import resource
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from tdo_compat.errors import named_when_full


@contextlib.contextmanager
def many_open_files() -> Iterator[None]:
    """Let this process open as many files in here as the system allows; usual are only 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def sha256(path: Path) -> str:
    """The SHA-256 digest of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


class _Written(io.FileIO):
    """A file whose name is in the error if the disk is full, even if others are written too."""

    def __init__(self, path: Path, name: Path) -> None:
        super().__init__(path, "w")
        self._said = name

    def write(self, content: Any) -> int:
        with named_when_full(self._said):
            return super().write(content)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A path for writing a file that is renamed when complete; on errors nothing is left."""
    partial = path.with_name(path.name + ".partial")
    try:
        with named_when_full(path):
            yield partial
            os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """A path for making a folder that is renamed when complete; on errors nothing is left.

    An existing folder is replaced at the end, and kept if that fails.

    Raises:
        OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{path.name}.", dir=path.parent, ignore_cleanup_errors=True
    ) as scratch:
        unfinished, earlier = Path(scratch, "new"), Path(scratch, "earlier")
        unfinished.mkdir()
        yield unfinished
        try:
            if path.exists():
                path.rename(earlier)
            unfinished.rename(path)
        except BaseException:
            if earlier.exists() and not path.exists():
                earlier.rename(path)
            raise


@contextlib.contextmanager
def complete_file(path: Path) -> Iterator[TextIO]:
    """A text file for writing that is renamed when complete."""
    partial = path.with_name(path.name + ".partial")
    try:
        raw = io.BufferedWriter(_Written(partial, path))
        with io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as stream:
            yield stream
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    os.replace(partial, path)


def write_text(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file atomically."""
    with complete_file(path) as stream:
        for line in lines:
            stream.write(f"{line}\n")
