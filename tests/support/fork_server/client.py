"""What stands in the place of Python: hands a command to the fork server and acts as it does.

Run by ``python -IS``, so that it starts in some milliseconds: standard library alone, and little of
it. What the server would not do just as Python does is run by Python itself.
"""

import array
import contextlib
import itertools
import json
import os
import resource
import signal
import socket
import struct
import sys
from typing import NoReturn

PACKAGES = ("tdo_plugin", "fairseq_cli")
TORCHRUN = "torch.distributed.run"
SPAWNED = "from multiprocessing.spawn import spawn_main;"
# Variables that an interpreter or a library reads at its start, by the beginnings of their names;
# the server applies some of them in its children. PYTHON alone is the scripts' own: which Python
# they start.
STARTING = ("PYTHON", "OMP_", "MKL_", "LD_", "LC_", "LANG")
APPLIED = ("PYTHON", "PYTHONWARNINGS", "PYTHONIOENCODING", "PYTHONPATH")
# SIGKILL and SIGSTOP cannot be forwarded; a client that is killed is a closed connection.
FORWARDED = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
    *(signal.SIGUSR1, signal.SIGUSR2),
)
LIMITS = [value for name, value in vars(resource).items() if name.startswith("RLIMIT_")]


def starting_environment(environment: dict[str, str]) -> dict[str, str]:
    """The variables that must be the server's own for a command to be forked from it."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(STARTING) and name not in APPLIED
    }


def without_flags(words: list[str]) -> list[str]:
    """A command without the flags that multiprocessing and torchrun hand on."""
    return list(itertools.dropwhile(lambda word: word in ("-B", "-u") or word[:2] == "-W", words))


def is_served(words: list[str], scripts: list[str]) -> bool:
    """Whether a command without a terminal is one of ours, of fairseq's, or was spawned by one.

    The words are those behind ``python``; scripts are the folders of the real commands and of those
    that stand for them.
    """
    command = without_flags(words)
    if not command or any(map(os.isatty, range(3))):
        return False
    if command[0] == "-m":
        module = command[1] if len(command) > 1 else ""
        return module == TORCHRUN or module.partition(".")[0] in PACKAGES
    if command[0] == "-c":
        return command[1].startswith(SPAWNED)
    folder, name = os.path.split(command[0])
    return folder in scripts and (name in ("tdo", "torchrun") or name.startswith("fairseq-"))


def open_files() -> list[int]:
    """The file descriptors that this process was started with."""
    listed = [int(name) for name in os.listdir("/proc/self/fd")]
    return [number for number in listed if os.path.exists(f"/proc/self/fd/{number}")]


def main(folder: str) -> NoReturn:
    """Run the command of ``sys.argv`` and end as it ends.

    The server's folder has its socket and ``server.json``.
    """
    with open(os.path.join(folder, "server.json")) as file:
        server = json.load(file)
    python, (called, *words) = server["python"], sys.argv
    environment, scripts = dict(os.environ), os.path.dirname(python)
    here = os.path.dirname(os.path.abspath(called))
    if not os.path.basename(called).startswith("python"):
        words = [os.path.join(scripts, os.path.basename(called)), *words]
    same = starting_environment(environment) == server["environment"]
    if not (same and is_served(words, [scripts, here])):
        os.execv(python, [python, *words])
    waiting = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    ignored = [number for number in FORWARDED if signal.getsignal(number) == signal.SIG_IGN]
    files = open_files()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.path.join(folder, "socket"))
    request = {
        "words": words,
        "client": os.getpid(),
        "executable": os.path.join(here, "python"),
        "scripts": scripts,
        "environment": environment,
        "folder": os.getcwd(),
        "umask": os.umask(0),
        "files": files,
        "limits": {number: resource.getrlimit(number) for number in LIMITS},
        "ignored": ignored,
        "blocked": list(waiting),
    }
    text = json.dumps(request).encode()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
    connection.sendmsg([struct.pack("!I", len(text))], rights)
    connection.sendall(text)
    pid = number_from(connection)

    def forward(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended: its status is on the way
            os.kill(pid, number)

    for number in FORWARDED:  # also what is ignored here: the command may do something at it
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
    end_like(number_from(connection))


def number_from(connection: socket.socket) -> int:
    """What the server says next."""
    data = connection.recv(4, socket.MSG_WAITALL)
    if len(data) < 4:
        sys.exit("error: the fork server has gone")
    (number,) = struct.unpack("!i", data)
    return int(number)


def end_like(status: int) -> NoReturn:
    """End with another process' wait status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))
