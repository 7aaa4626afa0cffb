"""One thread that runs the models, and the queue in front of it."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

SMOOTHING = 0.8  # of the mean time of a job, which a full queue announces


class BusyError(Exception):
    """The queue is full, or the worker has ended.

    Args:
        seconds: after which the queue has probably been worked off.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"{seconds} s")
        self.seconds = seconds


class ModelWorker:
    """Runs jobs one after the other, as torch uses all cores for one.

    Args:
        waiting: jobs that may wait.
    """

    def __init__(self, waiting: int) -> None:
        self._jobs: queue.Queue[tuple[Future[Any], Callable[[], Any]] | None]
        self._jobs = queue.Queue(waiting)
        self._mean = 1.0  # seconds of a job
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="models", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of jobs that wait."""
        return self._jobs.qsize()

    def submit(self, job: Callable[[], Any]) -> Future[Any]:
        """Put a job into the queue; a cancelled future removes it.

        Raises:
            BusyError: the queue is full, or `close` was called.
        """
        future: Future[Any] = Future()
        try:
            if self._ended:
                raise queue.Full
            self._jobs.put_nowait((future, job))
        except queue.Full:
            raise BusyError(math.ceil(self._mean * (self.waiting + 1))) from None
        return future

    def close(self, seconds: float) -> None:
        """Drop waiting jobs, and wait for the present one, but no longer than this."""
        self._ended = True
        while True:
            try:
                entry = self._jobs.get_nowait()
            except queue.Empty:
                break
            if entry is not None:
                entry[0].cancel()
        self._jobs.put(None)
        self._thread.join(seconds)

    def _work(self) -> None:
        while (entry := self._jobs.get()) is not None:
            future, job = entry
            if not future.set_running_or_notify_cancel():
                continue
            began = time.monotonic()
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)
            took = time.monotonic() - began
            self._mean = SMOOTHING * self._mean + (1 - SMOOTHING) * took
