"""Worker processes, one a GPU or several on a CPU; whoever is free gets the next direction."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import traceback
from argparse import Namespace
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.checkpoints import describe
from tdo_plugin.evaluation.decoding.jobs import Job, perform
from tdo_plugin.evaluation.decoding.options import DecodingOptions
from tdo_plugin_messages import one_line

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Translator

PATIENCE = 10  # seconds that a worker gets to end by itself


@dataclass(frozen=True)
class Work:
    """What every worker of a run needs to know."""

    options: DecodingOptions
    data: DataFolder
    out: Path
    user_dir: Path | None = None


@dataclass(frozen=True)
class Event:
    """News of a worker with a job.

    Attributes:
        kind: `ready` when the model is loaded, `sentences` when some more are translated, `done`,
            `failed`.
        job: the one that the worker has.
        sentences: how many more.
        text: why it failed.
        checkpoints: what the worker loaded, when it is ready.
    """

    kind: str
    job: Job
    sentences: int = 0
    text: str = ""
    checkpoints: tuple[dict[str, Any], ...] = ()


class _Worker:
    """One process, the connection to it, and the job that it has."""

    def __init__(self, work: Work, device: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.device = device
        self.connection, other = context.Pipe()
        self.job: Job | None = None
        self.process = context.Process(target=_serve, args=(other, work, device), daemon=True)
        self.process.start()
        other.close()

    def give(self, job: Job) -> None:
        self.job = job
        self.connection.send(job)

    def end(self) -> None:
        """Let an idle worker finish, which it does when the connection is gone; stop a busy one."""
        self.connection.close()
        if self.job:
            self.process.terminate()
        self.process.join(PATIENCE)
        self.process.kill()


def run_jobs(
    stages: Sequence[Sequence[Job]],
    work: Work,
    devices: Sequence[str],
    environment: dict[str, str],
) -> Iterator[Event]:
    """Do all jobs, a stage after the other; yields news as it comes.

    Args:
        stages: see `plan`.
        work: what the workers need.
        devices: one worker each, such as `cuda:0` or `cpu`.
        environment: variables for the workers.

    Raises:
        UserError: the model cannot be loaded.
    """
    most = max(map(len, stages), default=0)
    with _variables(environment):
        workers = [_Worker(work, device) for device in devices[:most]]
    try:
        for stage in stages:
            waiting = deque(stage)
            for worker in workers:
                if waiting:
                    worker.give(waiting.popleft())
            while busy := [worker for worker in workers if worker.job]:
                for connection in wait([worker.connection for worker in busy]):
                    worker = next(one for one in busy if one.connection is connection)
                    event = _receive(worker)
                    yield event
                    if event.kind not in ("done", "failed"):
                        continue
                    worker.job = None
                    if not worker.process.is_alive():
                        workers.remove(worker)
                        worker.end()
                        with _variables(environment):
                            worker = _Worker(work, worker.device)
                        workers.append(worker)
                    if waiting:
                        worker.give(waiting.popleft())
    finally:
        for worker in workers:
            worker.end()


def _receive(worker: _Worker) -> Event:
    """The next news of a worker; a worker that died has failed."""
    assert worker.job is not None
    try:
        kind, value = worker.connection.recv()
    except (EOFError, OSError):
        worker.process.join()
        code = worker.process.exitcode or 0
        what = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Event("failed", worker.job, text=f"its worker ended with {what}; out of memory?")
    if kind == "unusable":
        raise UserError(value)
    if kind == "ready":
        return Event(kind, worker.job, checkpoints=tuple(value))
    if kind == "sentences":
        return Event(kind, worker.job, sentences=value)
    return Event(kind, worker.job, text=value)


@contextmanager
def _variables(environment: dict[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started meanwhile."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _serve(connection: Connection, work: Work, device: str) -> None:
    """A worker's life: load the model, do what comes, until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # with all that Python cleans up
    try:
        translator = load(work, device)
        connection.send(("ready", [describe(path) for path in work.options.checkpoints]))
    except BaseException as error:
        connection.send(("unusable", _reason(error)))
        return

    def progress(sentences: int) -> None:
        connection.send(("sentences", sentences))

    try:
        while True:
            job = connection.recv()
            try:
                perform(job, translator, work.data, work.out, progress)
            except BrokenPipeError:
                raise
            except Exception as error:
                connection.send(("failed", _reason(error)))
            else:
                connection.send(("done", ""))
    except (EOFError, BrokenPipeError):
        return


def load(work: Work, device: str) -> Translator:
    """A `Translator` of the work's checkpoints on a device, without fairseq's greetings.

    Raises:
        UserError: see `Translator`.
    """
    logging.disable(logging.INFO)
    import torch
    from fairseq import utils

    from tdo_plugin.evaluation.decoding.translator import Translator

    if work.user_dir:
        utils.import_user_module(Namespace(user_dir=str(work.user_dir)))
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
    return Translator(work.options, work.data, torch.device(device))


def _reason(error: BaseException) -> str:
    """One line; what is no user's mistake leaves its traceback on stderr too."""
    line = one_line(type(error), error)
    if line is None:
        traceback.print_exception(error, file=sys.stderr)
        line = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    if type(error).__name__ == "OutOfMemoryError":
        line = f"`--max-tokens` must be less for this GPU's memory; {line}"
    return line
