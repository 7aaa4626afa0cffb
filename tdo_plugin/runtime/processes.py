"""A common policy for worker processes.

They ignore keyboard interrupts, which the parent handles, end on SIGTERM, and end by themselves
soon after their parent, which may have been killed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from tdo_plugin.runtime.signals import ENDING, blocked

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Method = Literal["fork", "spawn"]

BEAT = 0.2  # seconds between checks for the parent


def start(
    body: Callable[..., None], *args: Any, method: Method, daemon: bool = False
) -> tuple[Connection, BaseProcess]:
    """Start a process that runs ``body(connection, *args)``; returns the connection and process.

    Args:
        body: the work.
        args: for ``body``.
        method: a forked process inherits everything that this one has loaded; a spawned one starts
            fresh, as GPUs and threads of libraries require.
        daemon: whether this process, when it exits, ends the process instead of waiting for it; a
            daemon cannot start processes.
    """
    import multiprocessing  # slow to import, and most commands do not need it

    context: Any = multiprocessing.get_context(method)  # the base class has no Process
    connection, child_end = context.Pipe()
    process = context.Process(target=_run, args=(child_end, body, args, os.getpid()), daemon=daemon)
    # a forked process inherits this one's handlers, which must not run during the fork
    handled = ENDING if method == "fork" else ()
    with blocked(signal.SIGINT, *handled):  # until the process handles them itself
        process.start()
    child_end.close()
    return connection, process


def _run(
    connection: Connection, body: Callable[..., None], args: tuple[Any, ...], parent: int
) -> None:
    follow(parent)
    body(connection, *args)


def follow(parent: int) -> None:
    """Apply the policy to this process; ``parent`` is the id of the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: int) -> NoReturn:
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)


PARENT = "TDO_PARENT"  # environment variable: id of the process to end with


def end_with_parent() -> None:
    """Have this process, and any program that replaces it, get SIGTERM when its parent is gone.

    The parent requests this by the variable `PARENT`, which is not inherited further. It is done by
    the kernel (Linux only), so it also holds after an exec.
    """
    parent = os.environ.pop(PARENT, None)
    if parent is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):  # it has already ended
        os.kill(os.getpid(), signal.SIGTERM)


def ended_with(process: BaseProcess) -> str:
    """``signal 9`` or ``exit code 1``, for a process that is ending unexpectedly."""
    process.join()
    code = process.exitcode or 0
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def stop(processes: Iterable[BaseProcess]) -> None:
    """End processes, and wait for them."""
    running = list(processes)
    for process in running:
        process.terminate()
    for process in running:
        process.join()
