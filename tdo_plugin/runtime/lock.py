"""Folders to write to: one run at a time, and not where it reads."""

from __future__ import annotations

import errno
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tdo_plugin.errors import UserError

logger = logging.getLogger(__name__)

LOCK = ".lock"
LOCKLESS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)  # of some file systems
PATIENCE = 3  # seconds for the remaining processes of a killed run to end


def refuse_same(out: Path, source: Path, name: str, option: str = "--out") -> None:
    """Refuse a file or folder to write to that is also read from.

    Args:
        out: to write to.
        source: to read.
        name: of the option or argument that sets `source`.
        option: that sets `out`.

    Raises:
        UserError: they are one.
    """
    if out.resolve() == source.resolve():
        raise UserError(f"`{option}` must be another place than {name}; it is {out}")


@contextmanager
def alone(out: Path, option: str = "--out", patience: float | None = None) -> Iterator[int]:
    """Lock a folder against other runs, also of other machines that share it.

    The folder is created if it is missing. A process that an earlier run left holds the lock until
    it ends (if it was forked or got the descriptor). Remaining processes of a killed run end by
    themselves, which is waited for. Afterwards the file is removed, if no such process holds it,
    and new folders if they are empty. Where a file system has no locks, there is a warning instead.

    Args:
        out: the folder.
        option: that sets it, for messages.
        patience: seconds to wait for another run to end; None: :data:`PATIENCE`.

    Yields:
        The lock's file descriptor.

    Raises:
        UserError: another run has the lock, or the folder cannot be written to.
    """
    until = time.monotonic() + (PATIENCE if patience is None else patience)
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        while (stream := _locked(out / LOCK)) is None:
            if time.monotonic() > until:
                raise UserError(
                    f"`{option}` must be a folder that no other run is writing to; {out} is not"
                    f"{_by(out / LOCK)}"
                )
            time.sleep(0.1)
    except OSError as error:
        raise UserError(
            f"`{option}` must be a folder to write to; {out} gave: {error.strerror}"
        ) from None
    try:
        with stream:
            stream.truncate(0)
            stream.write(f"process {os.getpid()} of {socket.gethostname()}")
            stream.flush()
            yield stream.fileno()
    finally:
        with suppress(OSError):  # it was moved, or removed
            if (again := _locked(out / LOCK)) is not None:
                with again:
                    (out / LOCK).unlink()
                    for folder in made:
                        folder.rmdir()


def _locked(path: Path) -> IO[str] | None:
    """The lock's file, open and locked; None if another run has it."""
    stream = path.open("a+", encoding="utf-8")
    with suppress(FileNotFoundError):
        # a run that ended in between has removed the file that was opened
        if _taken(stream) and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
            return stream
    stream.close()
    return None


def _by(path: Path) -> str:
    """Who writes, as the end of a message."""
    with suppress(OSError):
        if text := path.read_text("utf-8").strip():
            return f" ({text} is)"
    return ""


def is_locked(out: Path) -> bool:
    """Whether a run writes to a folder."""
    try:
        lock = (out / LOCK).open()
    except OSError:
        return False
    with lock as stream:
        return not _taken(stream, shared=True)  # so that others can ask at the same time


def _taken(stream: IO[str], shared: bool = False) -> bool:
    import fcntl

    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(stream, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in LOCKLESS:
            raise
        if not shared:
            logger.warning(f"{stream.name} cannot be locked here; run nothing else in its folder")
    return True
