"""Signal handling for processes that have to clean up."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tdo_compat.errors import tell


@contextmanager
def blocked(*signals: signal.Signals) -> Iterator[None]:
    """Block signals; a process started meanwhile blocks them until it unblocks them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


GOES_ON = "run the same command again to continue"


ENDING = (signal.SIGTERM, signal.SIGHUP)  # from Slurm; from a closed terminal


class _EndedError(SystemExit):
    """This process got a signal that ends it.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name
        self.hint = ""  # of the innermost context with a hint


@contextmanager
def ended_by_signal(what: str = "", hint: str = "") -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise an exception, so that this process can clean up.

    Ignored signals, as under `nohup`, stay ignored.

    Args:
        what: name of what is ended, for a message; without it an outer context prints one.
        hint: added to the message, unless an inner context has a hint.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # an outer handler is already installed
        return

    def end(number: int, _: object) -> None:
        raise _EndedError(number)

    answered = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in answered}
    try:
        yield
    except KeyboardInterrupt as error:
        error.args = error.args or ((hint,) if hint else ())
        raise
    except _EndedError as error:
        error.hint = error.hint or hint
        if what:
            tell(f"{what}: ended by {error.name}{error.hint and f'; {error.hint}'}")
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
