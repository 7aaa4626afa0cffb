"""Files: what is in them by a digest, and text that appears only complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO


def sha256(path: Path) -> str:
    """The digest of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def complete_file(path: Path) -> Iterator[TextIO]:
    """A text file for writing that gets its name only when everything is written."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    os.replace(partial, path)


def write_text(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file that appears only complete."""
    with complete_file(path) as stream:
        for line in lines:
            stream.write(f"{line}\n")
