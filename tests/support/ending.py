"""Trainings that come to an end before their time, in processes of their own."""

import contextlib
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

from support.commands import environment
from support.data import CROSS_ENTROPY, PACKAGE, TAG, TASK, TDO, TRAIN, databin

FLAGS = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY)
FLAGS += ("--no-epoch-checkpoints",)
GLOO = ("--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp")
TWO_WORKERS = ("--standalone", "--nproc-per-node", "2")

# The package for --user-dir: the plugin, and something that happens to one worker before it begins
# an update (counted from 0).
TROUBLE = """
import atexit, os, signal, threading, time, torch, tdo_plugin
from fairseq.tasks import FairseqTask

original = FairseqTask.{step}

def step(self, sample, model, criterion, optimizer=None, update=None, *more):
    if {rank} in (None, int(os.environ.get("RANK", 0))) and update == {update}:
        {what}
    given = (optimizer, update, *more) if optimizer else more
    return original(self, sample, model, criterion, *given)

FairseqTask.{step} = step
"""


def trouble(
    folder: Path, what: str, update: int | None = 3, rank: int | None = 0
) -> tuple[str, ...]:
    """Flags with which ``what``, a statement, happens to a worker in an update.

    No update is every batch of a validation, no rank all workers.
    """
    package = folder / "trouble"
    package.mkdir(exist_ok=True)
    step = "valid_step" if update is None else "train_step"
    text = TROUBLE.format(what=what, update=update, rank=rank, step=step)
    (package / "__init__.py").write_text(text)
    return ("--user-dir", str(package))


def free_port() -> int:
    """A port of this machine that nobody listens at, below those that connections take."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as opened, contextlib.suppress(OSError):
            opened.bind(("127.0.0.1", port))
            return port


class Training:
    """A training under way; what it says is in files, which can be looked at meanwhile."""

    def __init__(
        self,
        folder: Path,
        *flags: object,
        torchrun: tuple[str, ...] = (),
        valid: bool = False,
        name: str = "log",
        python: str | None = None,
    ) -> None:
        """Start it, as the head of a process group.

        The folder has its checkpoints, and what it says in files of this name. The flags follow
        :data:`FLAGS`. torchrun starts it if there are options for that. The commands are those
        beside this Python, or the fork server's.
        """
        commands = Path(python or sys.executable).parent
        launcher = [str(commands / "torchrun"), *torchrun] if torchrun else []
        folder.mkdir(exist_ok=True)
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        arguments = [str(databin()), "--user-dir", str(PACKAGE), *FLAGS, "--save-dir", str(folder)]
        arguments += [] if valid else ["--disable-validation"]
        words = [*launcher, str(commands / "fairseq-train"), *arguments, *map(str, flags)]
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(
                words, stdout=out, stderr=err, env=environment(), start_new_session=True
            )

    def said(self) -> str:
        """All that it has said so far."""
        return self.out.read_text() + self.err.read_text()

    def wait_for(self, text: str) -> None:
        """Until it has said something."""
        end = time.monotonic() + 300
        while text not in self.said():
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.05)

    def end(self, code: int = 0) -> tuple[str, str]:
        """Wait for its end; what it has said, standard output and error apart."""
        try:
            exit_code = self.process.wait(300)
        finally:
            self.process.kill()
        assert exit_code == code, self.said()
        return self.out.read_text(), self.err.read_text()
