"""Jobs in processes, several at a time; see :mod:`~tdo_plugin.runtime.processes`."""

from __future__ import annotations

import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from tdo_compat.errors import one_line
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.processes import ended_with, start, stop
from tdo_plugin.runtime.signals import blocked

Key = TypeVar("Key")
Item = TypeVar("Item")
Result = TypeVar("Result")
Job = Callable[[], Any]

NO_MEMORY = "`--workers` must leave enough memory per process; one ended with {}, out of memory?"


def run_jobs(
    jobs: Iterable[tuple[Key, Job]], workers: int
) -> Generator[tuple[Key, Any], None, None]:
    """Run each job in a forked process; yields its key and result when it ends.

    A process per job frees its memory at its end, and can be stopped at any time. Modules that this
    process has imported need not be imported again. A job may start processes of its own.

    Args:
        jobs: taken one by one, as processes become free.
        workers: processes at a time.

    Raises:
        UserError: a process was killed. Errors of a job are raised unchanged, after the other jobs
            are stopped.
    """
    waiting = iter(jobs)
    running: dict[Connection, tuple[Key, BaseProcess]] = {}
    try:
        while True:
            for key, job in islice(waiting, workers - len(running)):
                with blocked(signal.SIGINT):  # an interrupt now would leave an unknown process
                    connection, process = start(_do, job, method="fork")
                    running[connection] = key, process
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                key, process = running.pop(ready)
                yield key, _result(ready, process)
    finally:
        stop(process for _, process in running.values())


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yields `function` of each item, in order, each from a forked process.

    This process does the first item itself, so that the others inherit what it loads; with one
    worker it does all of them.

    Args:
        function: of one item.
        items: taken as results are read, so that at most `workers` are pending.
        workers: processes at a time.

    Raises:
        UserError: as in `run_jobs`; errors of `function` are raised unchanged.
    """
    waiting = iter(items)
    yield from map(function, waiting if workers == 1 else islice(waiting, 1))
    running: deque[tuple[Connection, BaseProcess]] = deque()
    try:
        for item in waiting:
            # daemons are ended if this process ends early; it would wait for others
            with blocked(signal.SIGINT):
                running.append(start(_do, partial(function, item), method="fork", daemon=True))
            if len(running) == workers:
                yield _result(*running.popleft())
        while running:
            yield _result(*running.popleft())
    finally:
        stop(process for _, process in running)


def map_spawned(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    begin: Callable[..., None],
    *args: Any,
) -> Iterator[Result]:
    """Yields `function` of each item, in order, from spawned processes that do several each.

    Args:
        function: of one item; found by its module and name.
        items: are pickled, as are the results.
        workers: processes.
        begin: called first in each process, with `args`.

    Raises:
        UserError: a process was killed. Errors of `begin` and `function` are raised unchanged,
            after the processes are ended.
    """
    waiting = deque(enumerate(items))
    processes = [
        start(_serve, function, begin, args, method="spawn")
        for _ in range(min(workers, len(items)))
    ]
    busy: dict[Connection, tuple[int, BaseProcess]] = {}

    def hand_on(connection: Connection, process: BaseProcess) -> None:
        if waiting:
            place, item = waiting.popleft()
            busy[connection] = place, process
            with suppress(ConnectionError):  # it has ended, which the next receive reports
                connection.send(item)

    results: dict[int, Result] = {}
    try:
        for connection, process in processes:
            hand_on(connection, process)
        for place in range(len(items)):
            while place not in results:
                for ready in wait(list(busy)):
                    assert isinstance(ready, Connection)
                    done, process = busy.pop(ready)
                    results[done] = _received(ready, process)
                    hand_on(ready, process)
            yield results.pop(place)
    finally:
        stop(process for _, process in processes)
        for connection, _ in processes:
            connection.close()


def _serve(
    connection: Connection,
    function: Callable[[Any], Any],
    begin: Callable[..., None],
    args: tuple[Any, ...],
) -> None:
    begun = _answer(partial(begin, *args))
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        failed = begun[0] is not None
        connection.send(begun if failed else _answer(partial(function, item)))


def _result(connection: Connection, process: BaseProcess) -> Any:
    """The result of a process that does one job."""
    try:
        value = _received(connection, process)
    finally:
        connection.close()
    process.join()
    return value


def _received(connection: Connection, process: BaseProcess) -> Any:
    try:
        error, value = connection.recv()
    except (EOFError, ConnectionError):
        raise UserError(NO_MEMORY.format(ended_with(process))) from None
    if error is not None:
        raise error
    return value


def _do(connection: Connection, job: Job) -> None:
    connection.send(_answer(job))


def _answer(job: Job) -> tuple[Exception | None, Any]:
    """The error or the result of a job; the traceback of an unexpected error is printed here."""
    try:
        return None, job()
    except Exception as error:
        if one_line(type(error), error) is None:
            traceback.print_exception(error, file=sys.stderr)
        return error, None
