"""Signals, where a process has others to look after."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tdo_compat.errors import tell


@contextmanager
def blocked(*signals: signal.Signals) -> Iterator[None]:
    """Hold signals back; a process begun meanwhile holds its own back until it unblocks them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


GOES_ON = "the same command goes on from what is whole"


ENDING = (signal.SIGTERM, signal.SIGHUP)  # of Slurm; of a terminal that is closed


class _EndedError(SystemExit):
    """A signal that ends this process has come.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name
        self.hint = ""  # of the innermost context that has one


@contextmanager
def ended_by_signal(what: str = "", hint: str = "") -> Iterator[None]:
    """SIGTERM or SIGHUP end this process by an exception, so that it can clear up.

    A signal that is ignored, as under `nohup`, stays so.

    Args:
        what: is ended, for the line that says so; without it an outer context says it.
        hint: what comes behind that in the line, unless an inner context has one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # whoever has that one answers signals
        return

    def end(number: int, _: object) -> None:
        raise _EndedError(number)

    answered = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in answered}
    try:
        yield
    except _EndedError as error:
        error.hint = error.hint or hint
        if what:
            tell(f"{what}: ended by {error.name}{error.hint and f'; {error.hint}'}")
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
