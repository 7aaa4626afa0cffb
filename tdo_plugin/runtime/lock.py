"""A lock on a folder: one run at a time writes to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tdo_plugin.errors import UserError

LOCK = ".lock"
PATIENCE = 3  # seconds for the remaining processes of a killed run to end


@contextmanager
def alone(out: Path, option: str = "--out", patience: float | None = None) -> Iterator[int]:
    """Lock a folder against other runs; it is created if it is missing.

    A process that an earlier run left holds the lock until it ends (if it was forked or got the
    descriptor). Remaining processes of a killed run end by themselves, which is waited for.

    Args:
        out: the folder.
        option: that sets it, for messages.
        patience: seconds to wait for another run to end; None: :data:`PATIENCE`.

    Yields:
        The lock's file descriptor.

    Raises:
        UserError: another run has the lock, or the folder cannot be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK).open("w")
    except OSError as error:
        raise UserError(
            f"`{option}` must be a folder to write to; {out} gave: {error.strerror}"
        ) from None
    with lock as stream:
        until = time.monotonic() + (PATIENCE if patience is None else patience)
        while not _taken(stream):
            if time.monotonic() > until:
                raise UserError(
                    f"`{option}` must be a folder that no other run is writing to; {out} is not"
                )
            time.sleep(0.1)
        yield stream.fileno()


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
    return True
