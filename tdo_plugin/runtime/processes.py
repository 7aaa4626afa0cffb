"""One policy for processes that do a part of this one's work.

They leave interrupts from the keyboard to the process that began them, end when that tells them to
(SIGTERM), and end by themselves soon after it, which may have been killed.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Literal, NoReturn

from tdo_plugin.runtime.signals import ENDING, blocked

Method = Literal["fork", "spawn"]

BEAT = 0.2  # seconds between two looks at whether the parent is there


def start(
    body: Callable[..., None], *args: Any, method: Method, daemon: bool = False
) -> tuple[Connection, BaseProcess]:
    """Begin a process that runs ``body(connection, *args)``; returns the other end, and it.

    Args:
        body: what it does.
        args: for ``body``.
        method: a forked process has all that this one has loaded; a spawned one begins anew, as a
            GPU or threads of a library need it.
        daemon: whether this process, where it ends by itself, ends it rather than waits for it; a
            daemon cannot begin others.
    """
    context: Any = multiprocessing.get_context(method)  # each has a Process, its base has none
    connection, child_end = context.Pipe()
    process = context.Process(target=_run, args=(child_end, body, args, os.getpid()), daemon=daemon)
    # a forked process begins with this one's handlers, which must not run in the middle of the fork
    handled = ENDING if method == "fork" else ()
    with blocked(signal.SIGINT, *handled):  # until it answers them by itself
        process.start()
    child_end.close()
    return connection, process


def _run(
    connection: Connection, body: Callable[..., None], args: tuple[Any, ...], parent: int
) -> None:
    follow(parent)
    body(connection, *args)


def follow(parent: int) -> None:
    """Have this process keep to the policy; ``parent`` is the number of the one that began it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: int) -> NoReturn:
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)


PARENT = "TDO_PARENT"  # variable: the process that this one is to end with


def end_with_parent() -> None:
    """Have this process, and what it becomes, told to end (SIGTERM) when its parent is gone.

    Whoever began it asks for that by the variable `PARENT`, which goes no further. The kernel does
    it, on Linux alone, so that it holds whatever program this process becomes.
    """
    parent = os.environ.pop(PARENT, None)
    if parent is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):  # which has ended already
        os.kill(os.getpid(), signal.SIGTERM)


def ended_with(process: BaseProcess) -> str:
    """``signal 9`` or ``exit code 1``, of a process that is ending without having been told to."""
    process.join()
    code = process.exitcode or 0
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def stop(processes: Iterable[BaseProcess]) -> None:
    """End processes, and wait until they have."""
    running = list(processes)
    for process in running:
        process.terminate()
    for process in running:
        process.join()
