"""One thread that runs the models, and the queue in front of it."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

Progress = Callable[[int], None]
SMOOTHING = 0.8  # of the mean time of a job, which a full queue announces


class BusyError(Exception):
    """The queue is full, or the worker has ended.

    Args:
        seconds: after which the queue has probably been worked off.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"{seconds} s")
        self.seconds = seconds


class GivenUpError(Exception):
    """A job was given up after it had begun."""


class Job(Future[Any]):
    """The future of a job, which can also be given up after the job has begun."""

    def __init__(self) -> None:
        super().__init__()
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Remove the job from the queue, or end it when it next calls `progress`."""
        self._given_up.set()
        self.cancel()

    def progress(self, _: int = 0) -> None:
        """Called by the job as often as it can end.

        Raises:
            GivenUpError: `give_up` was called.
        """
        if self._given_up.is_set():
            raise GivenUpError


class ModelWorker:
    """Runs jobs one after the other, as torch uses all cores for one.

    Args:
        waiting: jobs that may wait.
    """

    def __init__(self, waiting: int) -> None:
        self._jobs: queue.Queue[tuple[Job, Callable[[Progress], Any]] | None]
        self._jobs = queue.Queue(waiting)
        self._mean = 1.0  # seconds of a job
        self._ended = False
        self._present: Job | None = None
        self._thread = threading.Thread(target=self._work, name="models", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of jobs that wait."""
        return self._jobs.qsize()

    def submit(self, work: Callable[[Progress], Any]) -> Job:
        """Put a job into the queue.

        Args:
            work: what the job does, given `Job.progress`.

        Raises:
            BusyError: the queue is full, or `close` was called.
        """
        job = Job()
        try:
            if self._ended:
                raise queue.Full
            self._jobs.put_nowait((job, work))
        except queue.Full:
            raise BusyError(math.ceil(self._mean * (self.waiting + 1))) from None
        return job

    def close(self, seconds: float) -> bool:
        """Give up all jobs, and wait for the present one to end, but no longer than this.

        Returns:
            Whether it has ended.
        """
        self._ended = True
        if self._present is not None:
            self._present.give_up()
        while True:
            try:
                entry = self._jobs.get_nowait()
            except queue.Empty:
                break
            if entry is not None:
                entry[0].give_up()
        self._jobs.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (entry := self._jobs.get()) is not None:
            job, work = entry
            if not job.set_running_or_notify_cancel():
                continue
            self._present = job
            if self._ended:
                job.give_up()
            began = time.monotonic()
            try:
                job.set_result(work(job.progress))
            except BaseException as error:
                job.set_exception(error)
            took = time.monotonic() - began
            self._mean = SMOOTHING * self._mean + (1 - SMOOTHING) * took
