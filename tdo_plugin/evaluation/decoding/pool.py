"""Worker processes, one per GPU or several on a CPU; each idle worker gets the next job."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoding_jobs import AnyJob
from tdo_plugin.evaluation.decoding.order import Waiting
from tdo_plugin.evaluation.decoding.worker import AnyWork, serve
from tdo_plugin.runtime.processes import ended_with, start

PATIENCE = 10  # seconds for a worker to end by itself


@dataclass(frozen=True)
class Event:
    """An event of a worker.

    Attributes:
        kind: `ready` when the model is loaded, `sentences` when more sentences are translated,
            `done`, or `failed`.
        job: the worker's job.
        sentences: number of newly translated sentences.
        text: why the job failed.
        checkpoints: descriptions of the loaded checkpoints, for `ready`.
    """

    kind: str
    job: AnyJob
    sentences: int = 0
    text: str = ""
    checkpoints: tuple[dict[str, Any], ...] = ()


class _Worker:
    """One process, the connection to it, and its current job."""

    def __init__(self, work: AnyWork, device: str) -> None:
        self.device = device
        self.job: AnyJob | None = None
        self.began = 0.0  # when it received the job, or was ready to start it
        self.connection, self.process = start(serve, work, device, method="spawn", daemon=True)

    def give(self, job: AnyJob) -> bool:
        """Send a job; False if the process has ended."""
        try:
            self.connection.send(job)
        except OSError:
            return False
        self.job, self.began = job, time.monotonic()
        return True

    def stop(self) -> None:
        """Close the connection, which ends an idle worker; terminate a busy one."""
        self.connection.close()
        if self.job:
            self.process.terminate()

    def wait(self) -> None:
        """Wait until the process has ended."""
        self.process.join(PATIENCE)
        self.process.kill()
        self.process.join()


class _Pool:
    """The workers of a run, one per device, started when needed."""

    def __init__(self, work: AnyWork, devices: Sequence[str], environment: dict[str, str]) -> None:
        self._work, self._environment = work, environment
        self._free = deque(devices)
        self.workers: list[_Worker] = []
        self.ready = False  # whether any worker has loaded the model

    def give(self, job: AnyJob) -> bool:
        """Give a job to an idle worker or a new one; False if every device is busy."""
        for worker in [idle for idle in self.workers if not idle.job]:
            if worker.give(job):
                return True
            self._remove(worker)
        if not self._free:
            return False
        with _variables(self._environment):
            worker = _Worker(self._work, self._free.popleft())
        self.workers.append(worker)
        return worker.give(job)

    def busy(self) -> list[_Worker]:
        return [worker for worker in self.workers if worker.job]

    def done(self, worker: _Worker) -> None:
        """Mark the worker as idle; if its process has ended, free its device."""
        worker.job = None
        if not worker.process.is_alive():
            self._remove(worker)

    def retire(self, worker: _Worker) -> None:
        """Remove a worker and its device."""
        worker.job = None
        self._remove(worker)
        self._free.remove(worker.device)

    def _remove(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        self._free.append(worker.device)
        worker.stop()
        worker.wait()

    def end(self) -> None:
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.wait()


def decode_all(
    stages: Sequence[Sequence[AnyJob]],
    work: AnyWork,
    devices: Sequence[str],
    environment: dict[str, str],
) -> Iterator[Event]:
    """Run all jobs, stage by stage, and yield events.

    Args:
        stages: see `plan`.
        work: the input shared by all workers.
        devices: one per worker, such as `cuda:0` or `cpu`.
        environment: environment variables for the workers.

    Raises:
        UserError: the model cannot be loaded.
    """
    pool = _Pool(work, devices, environment)
    try:
        for stage in stages:
            waiting = Waiting(stage)
            while waiting or pool.busy():
                while waiting and pool.give(waiting.first()):
                    waiting.begun(waiting.first())
                if waiting and not pool.busy():
                    raise UserError("a worker must be able to load the model; none is left")
                for connection in wait([worker.connection for worker in pool.busy()]):
                    worker = next(
                        candidate
                        for candidate in pool.workers
                        if candidate.connection is connection
                    )
                    event = _receive(pool, worker)
                    if event.kind == "ready":
                        worker.began = time.monotonic()
                    elif event.kind == "done":
                        waiting.took(event.job, time.monotonic() - worker.began)
                    yield event
    finally:
        pool.end()


def _receive(pool: _Pool, worker: _Worker) -> Event:
    """The next event of a worker; a worker that died has failed."""
    assert worker.job is not None
    job = worker.job
    try:
        kind, value = worker.connection.recv()
    except (EOFError, OSError):
        what = ended_with(worker.process)
        kind, value = "failed", f"its worker ended with {what}; out of memory?"
    if kind == "ready":
        pool.ready = True
        return Event(kind, job, checkpoints=tuple(value))
    if kind == "sentences":
        return Event(kind, job, sentences=value)
    if kind == "unusable":
        if not pool.ready:
            worker.job = None  # it ends by itself
            raise UserError(value)
        pool.retire(worker)
        return Event("failed", job, text=f"its worker could not load the model: {value}")
    pool.done(worker)
    return Event(kind, job, text=value)


@contextmanager
def _variables(environment: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started in this context."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
