"""A process that has imported torch and other libraries, and forks for each command.

Neither this project nor fairseq is imported before a fork, so that whatever happens while they are
happens in each command, as it does in a Python of its own.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import forked

Request = dict[str, Any]
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


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, where `forked` was
    server = Server(Path(sys.argv[1]))
    print("ready", flush=True)  # to connect; clients wait
    import_libraries()
    forked.live(*server.serve())
