"""Commands in processes of their own, which end together."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tdo_plugin.runtime.processes import PARENT

GRACE = 10.0  # seconds from being asked to end to being made to


class Stopped(Exception):
    """No more commands are begun."""


class Commands:
    """Commands that several threads run, and one ends.

    Each is the head of a process group, so that what it has begun ends with it. A `tdo` command is
    told to end when this process is gone, however that ended.

    Args:
        grace: seconds that each has from being told to end to being made to.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._running: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()  # nothing begins while all are told to end
        self._stopped = False

    def run(
        self,
        words: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        lock: int | None = None,
        text: Path | None = None,
    ) -> int:
        """Run a command to its end; what it says goes behind what is in the log.

        Args:
            words: the command.
            log: file for both of its outputs.
            environment: variables that it has beside this process'.
            lock: descriptor that it keeps open as long as it lives, if there is one.
            text: file for what it prints, if that is not for the log; it goes behind what is there.

        Returns:
            Its exit code; minus the number of the signal that ended it.

        Raises:
            Stopped: `stop` was called before.
        """
        with log.open("ab") as stream, (text or log).open("ab") as printed, self._guard:
            if self._stopped:
                raise Stopped
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=stream,
                env={**os.environ, **environment, PARENT: str(os.getpid())},
                pass_fds=() if lock is None else (lock,),
                start_new_session=True,
            )
            self._running.add(process)
        try:
            return process.wait()
        finally:
            self._running.discard(process)

    def stop(self) -> None:
        """End all commands, by force where they take too long or this is interrupted."""
        with self._guard:
            self._stopped = True
            running = list(self._running)
        try:
            for process in running:
                _signal(process, signal.SIGTERM)
            end = time.monotonic() + self._grace
            for process in running:
                process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        finally:
            for process in running:
                _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):  # it ends just now
            os.killpg(process.pid, number)
