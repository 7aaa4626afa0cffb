"""One run at a time writes to a folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tdo_plugin.errors import UserError

LOCK = ".lock"
PATIENCE = 3  # seconds in which what a killed run has left behind ends


@contextmanager
def alone(out: Path, option: str = "--out", patience: float = PATIENCE) -> Iterator[int]:
    """No other run writes to the folder meanwhile; it is made where it is missing.

    A process that an earlier run left behind holds the folder until it ends: a forked one, or one
    that was given the descriptor. What a killed run leaves ends by itself, which is waited for.

    Args:
        out: the folder.
        option: that names it, for messages.
        patience: seconds in which another run may still end.

    Yields:
        The lock's file descriptor.

    Raises:
        UserError: another run does, or it is no folder that can be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK).open("w")
    except OSError as error:
        raise UserError(
            f"`{option}` must be a folder to write to; {out} gave: {error.strerror}"
        ) from None
    with lock as stream:
        until = time.monotonic() + patience
        while not _taken(stream):
            if time.monotonic() > until:
                raise UserError(
                    f"`{option}` must be a folder that no other run is writing to; {out} is not"
                )
            time.sleep(0.1)
        yield stream.fileno()


def _taken(stream: IO[str]) -> bool:
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
