"""Signals, where a process has others to look after."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_interrupt() -> Iterator[None]:
    """An interrupt from the keyboard waits; processes begun meanwhile never get it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM, as Slurm sends it, ends this process by an exception, so that it can clear up."""

    def end(*_: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
