"""A process that has imported torch and other libraries, and forks for each command.

Neither this project nor fairseq is imported before a fork, so that whatever happens while they are
happens in each command, as it does in a Python of its own.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import multiprocessing
import os
import resource
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from client import without_flags

Request = dict[str, Any]
FIRST_FREE = 512  # above any file descriptor that a command is given
# what fairseq and this project import of others, most of a start
LIBRARIES = (
    *("torch", "torch.distributed", "torch.utils.data", "torch.utils.tensorboard"),
    *("torch.utils.checkpoint", "torch.nn.parallel", "torch.multiprocessing.spawn"),
    "torch._dynamo",  # by models without memory, as `tdo describe` builds them
    *("hydra", "hydra.core.global_hydra", "hydra.experimental", "hydra.core.config_store"),
    *("hydra._internal.config_loader_impl", "omegaconf", "sacrebleu", "bitarray", "regex"),
    *("sentencepiece", "safetensors.torch", "numpy.random", "sqlite3", "pdb"),
)


def import_libraries() -> None:
    """Import what commands will; in this process for all of them."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that a child's collections do not copy the parent's pages


def receive(connection: socket.socket) -> tuple[Request, list[int]]:
    """A client's request and its open files."""
    head, files, _, _ = socket.recv_fds(connection, 4, 253)
    (size,) = struct.unpack("!I", head)
    text = connection.makefile("rb").read(size)
    return json.loads(text), list(files)


class Server:
    """Answers clients until its standard input ends, which is its owner's life."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(0, selectors.EVENT_READ, self._leave)
        self._commands: dict[int, socket.socket] = {}

    def serve(self) -> tuple[Request, list[int]]:
        """Fork for each request; returns in the children alone."""
        while True:
            for key, _ in self._selector.select():
                forked = key.data()
                if forked is not None:
                    return forked

    def _leave(self) -> None:
        for pid in self._commands:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)

    def _accept(self) -> tuple[Request, list[int]] | None:
        connection, _ = self._listener.accept()
        try:
            request, files = receive(connection)
        except (OSError, ValueError, struct.error):
            connection.close()  # a client that was killed before it had said what it wanted
            return None
        pid = os.fork()
        if not pid:
            return request, files
        for file in files:
            os.close(file)
        self._commands[pid] = connection
        process = os.pidfd_open(pid)
        self._selector.register(process, selectors.EVENT_READ, lambda: self._ended(pid, process))
        # nothing more is said by a client: what can be read is its end
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._killed(pid))
        self._say(connection, pid)
        return None

    def _killed(self, pid: int) -> None:
        self._selector.unregister(self._commands[pid])
        os.kill(pid, signal.SIGKILL)

    def _ended(self, pid: int, process: int) -> None:
        _, status = os.waitpid(pid, 0)
        connection = self._commands.pop(pid)
        self._selector.unregister(process)
        if connection in self._selector.get_map():
            self._selector.unregister(connection)
        os.close(process)
        self._say(connection, status)
        connection.close()

    @staticmethod
    def _say(connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):  # killed meanwhile
            connection.sendall(struct.pack("!i", number))


def take_files(files: list[int], numbers: list[int]) -> None:
    """Give this process a client's open files, by their numbers there, and no others."""
    import fcntl

    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, FIRST_FREE) for file in files]
    os.closerange(0, FIRST_FREE)
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
    os.closerange(FIRST_FREE, max(moved) + 1)


def become(request: Request, files: list[int]) -> None:
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
    if "COVERAGE_PROCESS_START" in os.environ:
        import coverage

        coverage.process_startup()


def run(words: list[str], scripts: str) -> None:
    """Run a module, a script or a spawned process as Python does.

    Args:
        words: behind ``python``.
        scripts: the folder of the real commands.
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


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, where `client` was
    server = Server(Path(sys.argv[1]))
    print("ready", flush=True)  # to connect; clients wait
    import_libraries()
    import torch

    request, files = server.serve()
    # a child from here on
    become(request, files)
    code = exit_code_of(lambda: run(request["words"], request["scripts"]))
    # of a group of processes, Python is to destroy all: that has hung before
    if not torch.distributed.is_initialized():
        leave(code)
    sys.exit(code)
