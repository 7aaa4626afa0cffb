"""Signals, where a process has others to look after."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tdo_compat.errors import tell


@contextmanager
def no_interrupt() -> Iterator[None]:
    """An interrupt from the keyboard waits; processes begun meanwhile never get it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


GOES_ON = "the same command goes on from what is whole"


class _EndedError(SystemExit):
    """SIGTERM has come."""


@contextmanager
def ended_by_sigterm(what: str = "", hint: str = "") -> Iterator[None]:
    """SIGTERM, as Slurm sends it, ends this process by an exception, so that it can clear up.

    Args:
        what: is ended, for the line that says so; without it an outer context says it.
        hint: what comes behind that in the line, unless an inner context has one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # whoever has that one answers signals
        return

    def end(*_: object) -> None:
        raise _EndedError(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except _EndedError as error:
        if hint and not hasattr(error, "hint"):
            error.hint = hint  # type: ignore[attr-defined]
        if what:
            behind = getattr(error, "hint", "")
            tell(f"{what}: ended by SIGTERM{behind and f'; {behind}'}")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
