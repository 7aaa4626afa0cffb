"""One process for each system, which keeps its model and executes requests."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError, line_or_traceback
from tdo_plugin.runtime.signals import blocked


class SystemProcess:
    """A process of a system.

    Args:
        environment: all its environment variables.
        folder: a folder for its files, which is created.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        context = multiprocessing.get_context("spawn")
        self._connection, child_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_end, folder))
        with _variables(environment), blocked(signal.SIGINT):
            self._process.start()
        child_end.close()

    def ask(self, what: str, argument: Any) -> None:
        """Request a call of a method of `running.Stand`."""
        with suppress(OSError):  # `answer` reports a process that has ended
            self._connection.send((what, argument))

    def answer(self) -> Any:
        """The method's result.

        Raises:
            UserError: the method failed.
        """
        try:
            failed, value = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            raise UserError(
                "`tdo bench` requires memory for each system; a process ended with exit code "
                f"{self._process.exitcode}"
            ) from None
        if failed:
            raise UserError(value)
        return value

    def end(self) -> None:
        """End the process immediately."""
        self._connection.close()
        self._process.terminate()
        self._process.join()


@contextmanager
def _variables(environment: Mapping[str, str]) -> Iterator[None]:
    """Set exactly these environment variables for a process that is started in this context."""
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(environment)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _serve(connection: Connection, folder: Path) -> None:
    """The main loop of the process; it ends when the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.WARNING)  # fairseq logs a lot
    # fairseq creates a lock at import; with "fork", a terminated process leaves nothing behind
    multiprocessing.set_start_method("fork", force=True)
    with suppress(EOFError, OSError):
        from speed.running import Stand

        stand = Stand(folder)
        while True:
            what, argument = connection.recv()
            try:
                answer = False, getattr(stand, what)(argument)
            except Exception as error:
                answer = True, line_or_traceback(error)
            connection.send(answer)
