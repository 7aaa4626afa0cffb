"""Jobs in processes of their own, several at a time, which end with the process that began them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn, TypeVar

from tdo_plugin.errors import UserError
from tdo_plugin_messages import one_line

Key = TypeVar("Key")
Job = Callable[[], Any]

BEAT = 0.2  # seconds between two looks at whether the parent is there


def run_jobs(jobs: Iterable[tuple[Key, Job]], workers: int) -> Iterator[tuple[Key, Any]]:
    """Run each job in a forked process; yields its key and result as it ends.

    A process per job gives its memory back with its end, and can be stopped wherever it is. What
    this process has imported already costs the others nothing.

    Args:
        jobs: taken one by one, as processes become free.
        workers: processes at a time.

    Raises:
        UserError: a process was ended from outside. Errors of a job are raised as they are; the
            other jobs are stopped then.
    """
    waiting = iter(jobs)
    running: dict[Connection, tuple[Key, BaseProcess]] = {}
    try:
        while True:
            for key, job in islice(waiting, workers - len(running)):
                connection, process = _start(job)
                running[connection] = key, process
            if not running:
                return
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                key, process = running.pop(connection)
                yield key, _result(connection, process)
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.join()


def _start(job: Job) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    connection, other = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(other, job, os.getpid()), daemon=True)
    # the parent ends its processes: an interrupt from the keyboard must not reach them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    other.close()
    return connection, process


def _result(connection: Connection, process: BaseProcess) -> Any:
    try:
        error, value = connection.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        what = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise UserError(
            f"`--workers` must leave each process its memory; one ended with {what}, out of memory?"
        ) from None
    finally:
        connection.close()
    process.join()
    if error is not None:
        raise error
    return value


def _serve(connection: Connection, job: Job, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        answer = None, job()
    except Exception as error:
        if one_line(type(error), error) is None:
            traceback.print_exception(error, file=sys.stderr)
        answer = error, None
    connection.send(answer)


def _end_with(parent: int) -> NoReturn:
    """End this process soon after its parent, which may have been killed."""
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)
