"""The process of a command, forked from the server: it becomes, does and ends as the command."""

import atexit
import contextlib
import io
import multiprocessing
import os
import resource
import runpy
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from client import without_flags

OWN_FILES = 512  # above any file descriptor that the server has itself


def live(request: dict[str, Any], files: list[int]) -> NoReturn:
    """The whole life of a command, as its client requests it; the open files are the client's."""
    import torch.distributed

    become(request, files)
    code = exit_code_of(lambda: run(request["words"], request["scripts"]))
    # of a group of processes, Python is to destroy all: that has hung before
    if not torch.distributed.is_initialized():
        leave(code)
    sys.exit(code)


def take_files(files: list[int], numbers: list[int]) -> None:
    """Give this process a client's open files, by their numbers there, and no others."""
    import fcntl

    free = max(OWN_FILES, *numbers) + 1
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, free) for file in files]
    os.closerange(0, free)
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
    os.closerange(free, max(moved) + 1)


def become(request: dict[str, Any], files: list[int]) -> None:
    """Be the process that the client stands for, but for its number."""
    os.setsid()
    take_files(files, request["files"])
    os.chdir(request["folder"])
    os.umask(request["umask"])
    for name, limits in request["limits"].items():
        resource.setrlimit(int(name), tuple(limits))
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, request["blocked"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.getppid = parent_of(request["client"])
    apply_environment("-u" in flags_of(request["words"]))
    sys.executable = request["executable"]
    multiprocessing.set_executable(sys.executable)
    sys.orig_argv = [sys.executable, *request["words"]]


def parent_of(client: int) -> Callable[[], int]:
    """``os.getppid`` of a command, which may watch its parent: its client's, and not the server.

    Processes that it forks have it for their own parent.
    """
    command, real = os.getpid(), os.getppid

    def getppid() -> int:
        if os.getpid() != command:
            return real()
        try:
            status = Path(f"/proc/{client}/stat").read_text()
        except OSError:  # killed just now, and so will be whoever asks
            return 1
        return int(status.rpartition(")")[2].split()[1])

    return getppid


def flags_of(words: list[str]) -> list[str]:
    """Python's own, before what it runs."""
    return words[: len(words) - len(without_flags(words))]


def apply_environment(unbuffered: bool) -> None:
    """What Python makes of its variables, and of ``-u``, while it starts."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        raw = number > 0 and (unbuffered or isinstance(old.buffer, io.FileIO))
        file = open(number, "wb" if number else "rb", 0 if raw else -1, closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(
            file,
            encoding=encoding or old.encoding,
            errors=(errors if number < 2 else "") or old.errors,
            newline="\n",
            line_buffering=old.line_buffering,
            write_through=old.write_through or unbuffered,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    filters = os.environ.get("PYTHONWARNINGS")
    sys.warnoptions[:] = filters.split(",") if filters else []
    paths = os.environ.get("PYTHONPATH")
    sys.path[:0] = paths.split(os.pathsep) if paths else []
    import numpy

    numpy.random.seed()
    if "COVERAGE_PROCESS_CONFIG" in os.environ:
        import coverage

        coverage.process_startup().switch_context(os.environ.get("PYTEST_CURRENT_TEST", ""))


def run(words: list[str], scripts: str) -> None:
    """Run a module, a script or a spawned process as Python does.

    The words are those behind ``python``; scripts is the folder of the real commands.
    """
    sys.warnoptions += [flag[2:] for flag in flags_of(words) if flag.startswith("-W")]
    warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]
    command = without_flags(words)
    if command[0] == "-c":
        sys.argv = ["-c", *command[2:]]
        exec(command[1], {"__name__": "__main__"})
    elif command[0] == "-m":
        sys.argv = command[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [os.path.join(scripts, os.path.basename(command[0])), *command[1:]]
        sys.path.insert(0, scripts)
        runpy.run_path(sys.argv[0], run_name="__main__")


def exit_code_of(does: Callable[[], None]) -> int:
    """What a command ends with, unless it raises what Python must report."""
    try:
        does()
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int) or not 0 <= code < 256:
            raise
        return int(code)
    return 0


def leave(code: int) -> NoReturn:
    """End as Python does, but for the objects that modules hold, which are not destroyed.

    Those of the libraries take 0.4 seconds, more than most commands. With them, what a command of
    ours left to destructors is left out: files that nobody closed, ``__del__``.
    """
    with reported("threading"):
        threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if stream is not None and not stream.closed:
            try:
                stream.flush()
            except OSError:
                with reported(stream):
                    raise
                code = 120
    os._exit(code)


@contextlib.contextmanager
def reported(place: object) -> Iterator[None]:
    """Say what is raised as Python says it while it ends, and go on."""
    try:
        yield
    except BaseException as error:
        if sys.stderr:
            print("Exception ignored in:", place, file=sys.stderr)
            traceback.print_exception(error)
