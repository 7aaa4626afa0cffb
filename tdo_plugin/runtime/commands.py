"""Commands in processes of their own, which are ended together."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from tdo_plugin.runtime.memory import PeakMemory
from tdo_plugin.runtime.processes import PARENT

GRACE = 10.0  # seconds between SIGTERM and SIGKILL


class Stopped(Exception):
    """No more commands are started."""


class Commands:
    """Commands that several threads run, and that can be ended together.

    Each leads a process group, so that its child processes end with it. A `tdo` command gets
    SIGTERM when this process is gone, however it ended; so does a script that calls
    `end_with_parent`, as each must that starts `tdo` commands itself.

    Args:
        grace: seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._running: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()  # no command starts while all are being ended
        self._stopped = False

    @contextmanager
    def threads(self, count: int) -> Iterator[ThreadPoolExecutor]:
        """Threads to run commands in; an error or a signal in this context ends all commands."""
        with ThreadPoolExecutor(count) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.stop()
                raise

    def run(
        self,
        words: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        lock: int | None = None,
        text: Path | None = None,
        limit: float | None = None,
        peak: PeakMemory | None = None,
    ) -> int:
        """Run a command to its end, and append its output to the log.

        Args:
            words: the command.
            log: file for standard output and error.
            environment: variables in addition to this process's.
            lock: a file descriptor that the command keeps open while it runs, or None.
            text: file to append standard output to, instead of the log.
            limit: seconds after which the command is ended, or None.
            peak: gets the memory of the command and all that it starts, or None.

        Returns:
            Its exit code, or the negative number of the signal that ended it.

        Raises:
            Stopped: `stop` has been called.
            subprocess.TimeoutExpired: the command was ended at its limit.
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
            with nullcontext() if peak is None else peak.watching(process.pid):
                return process.wait(limit)
        except subprocess.TimeoutExpired:
            self._end([process])
            raise
        finally:
            self._running.discard(process)

    def stop(self) -> None:
        """End all commands, by SIGKILL if they take too long or this call is interrupted."""
        with self._guard:
            self._stopped = True
            running = list(self._running)
        self._end(running)

    def _end(self, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        try:
            for process in processes:
                _signal(process, signal.SIGTERM)
            end = time.monotonic() + self._grace
            for process in processes:
                process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        finally:
            for process in processes:
                _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to the group of a command, which may have more processes than the command."""
    with suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, number)
