"""One run at a time writes to a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tdo_plugin.errors import UserError

LOCK = ".lock"


class FolderInUse(UserError):
    """Another run writes to the folder."""


@contextmanager
def alone(out: Path, option: str = "--out") -> Iterator[int]:
    """No other run writes to the folder meanwhile; it is made where it is missing.

    A process that an earlier run left behind holds the folder until it ends: a forked one, or one
    that was given the descriptor.

    Args:
        out: the folder.
        option: that names it, for messages.

    Yields:
        The lock's file descriptor.

    Raises:
        FolderInUse: another run does.
        UserError: it is no folder that can be written to.
    """
    import fcntl

    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK).open("w")
    except OSError as error:
        raise UserError(
            f"`{option}` must be a folder to write to; {out} gave: {error.strerror}"
        ) from None
    with lock as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(
                f"`{option}` must be a folder that no other run is writing to; {out} is not"
            ) from None
        yield stream.fileno()
