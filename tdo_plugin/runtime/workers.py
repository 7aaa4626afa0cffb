"""Jobs in processes of their own, several at a time, which end with the process that began them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn, TypeVar

from tdo_compat.errors import one_line
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.signals import no_interrupt

Key = TypeVar("Key")
Item = TypeVar("Item")
Result = TypeVar("Result")
Job = Callable[[], Any]

BEAT = 0.2  # seconds between two looks at whether the parent is there


def run_jobs(
    jobs: Iterable[tuple[Key, Job]], workers: int
) -> Generator[tuple[Key, Any], None, None]:
    """Run each job in a forked process; yields its key and result as it ends.

    A process per job gives its memory back with its end, and can be stopped wherever it is. What
    this process has imported already costs the others nothing. A job may have processes of its own.

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
                with no_interrupt():  # which would leave a process that is not known here
                    connection, process = _start(job)
                    running[connection] = key, process
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                key, process = running.pop(ready)
                yield key, _result(ready, process)
    finally:
        _stop([process for _, process in running.values()])


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yields `function` of each item, in their order, each from a forked process.

    This process does the first item itself, so that what that loads is there for the others; with
    one worker it does all of them.

    Args:
        function: of one item.
        items: taken as results are, so that no more than `workers` are under way or wait.
        workers: processes at a time.

    Raises:
        UserError: as `run_jobs` does, and likewise what `function` raises.
    """
    waiting = iter(items)
    yield from map(function, waiting if workers == 1 else islice(waiting, 1))
    running: deque[tuple[Connection, BaseProcess]] = deque()
    try:
        for item in waiting:
            # where this process ends early it ends its daemons; for others it would wait
            with no_interrupt():
                running.append(_start(partial(function, item), daemon=True))
            if len(running) == workers:
                yield _result(*running.popleft())
        while running:
            yield _result(*running.popleft())
    finally:
        _stop([process for _, process in running])


def _start(job: Job, daemon: bool = False) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    connection, other = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(other, job, os.getpid()), daemon=daemon)
    process.start()
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


def _stop(processes: list[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _serve(connection: Connection, job: Job, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    answer: tuple[Exception | None, Any]
    try:
        answer = None, job()
    except Exception as error:
        if one_line(type(error), error) is None:
            traceback.print_exception(error, file=sys.stderr)
        answer = error, None
    connection.send(answer)


def end_with_parent() -> None:
    """Let this process, spawned by another, end with that one, which may be killed.

    Whatever it does then, nobody would get it.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> NoReturn:
    parent.join()
    os._exit(1)


def _end_with(parent: int) -> NoReturn:
    """End this process soon after its parent, which may have been killed."""
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)
