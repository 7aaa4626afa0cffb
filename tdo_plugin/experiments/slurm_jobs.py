"""Steps as Slurm jobs: submitted, waited for, and cancelled when the run ends.

A job's name contains the step's key, so that a run recognises the jobs of a killed run. The job
script writes its exit code to a file unless the job is requeued; Slurm's accounting is not needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.runtime.commands import Stopped
from tdo_plugin.runtime.files import write_text

BEAT = 1.0  # seconds between checks of a job's exit code file
EVERY = 20.0  # seconds between calls of squeue
LOST = 60.0  # seconds out of the queue without an exit code after which a job counts as lost

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """A step's job.

    Attributes:
        step: the step's name.
        stem: the job's name without the step's key.
        key: the step's key.
        script: path of the script; the exit code is next to it, in `code`.
        log: path of the log.
        text: text of the script.
        environment: additional environment variables.
    """

    step: str
    stem: str
    key: str
    script: Path
    log: Path
    text: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The job's name in the queue."""
        return f"{self.stem}.{self.key}"

    @property
    def code(self) -> Path:
        """The file with the exit code, once the job has ended."""
        return self.script.with_suffix(f".{self.key}.code")

    @property
    def command(self) -> list[str]:
        """The command that submits the job; its options override those in the script."""
        log = str(self.log).replace("%", "%%")
        named = [f"--job-name={self.name}", f"--output={log}"]
        return ["sbatch", "--parsable", *named, str(self.script)]

    def ended(self) -> int | None:
        """The exit code, or None if there is none yet."""
        try:
            return int(self.code.read_text())
        except (OSError, ValueError):
            return None


class SlurmJobs:
    """Jobs that several threads wait for, and one thread may cancel.

    Args:
        say: called with a line about each job.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._numbers: dict[str, str] = {}  # awaited jobs, by name
        self._queue: dict[str, str] | None = None
        self._asked = -EVERY
        self._stopped = False
        self._guard = threading.Lock()

    def left(self, job: Job, begun: bool, waits: bool) -> bool:
        """Wait for this job of a killed run; returns whether it existed and succeeded.

        A job with another key, or of a step that must start again, is cancelled.

        Args:
            job: the job.
            begun: whether the step was begun with this key, and is not done.
            waits: whether this run uses Slurm jobs; if not, no job may be left.

        Raises:
            UserError: a job is left although `waits` is false; squeue fails.
            Stopped: `stop` was called.
        """
        if not job.script.exists() or not (waits or shutil.which("squeue")):
            return False
        if (queue := self._in_queue()) is None:
            raise UserError("`squeue` must work, since a job may still be queued; it fails")
        for name, number in queue.items():
            if not name.startswith(f"{job.stem}."):
                continue
            if not waits:
                raise UserError(
                    f"`--slurm` must be given while job {number} of {job.step} is in Slurm's queue "
                    f"(end it with scancel {number})"
                )
            if name == job.name and begun:
                self._say(f"{job.step}: waiting for existing job {number}")
                return self._wait(job, number) == 0
            _slurm("scancel", number)
            while (now := self._in_queue()) is None or name in now:
                self._pause()
        return begun and job.ended() == 0

    def run(self, job: Job) -> int | None:
        """Submit a job and wait for its end; returns its exit code, or None if it is lost.

        Raises:
            UserError: the job cannot be submitted.
            Stopped: `stop` was called.
        """
        write_text(job.script, job.text.split("\n"))
        job.code.unlink(missing_ok=True)
        with self._guard:
            if self._stopped:
                raise Stopped
            number = _slurm(*job.command, environment=job.environment).strip().partition(";")[0]
            self._numbers[job.name] = number
        self._say(f"{job.step}: job {number}")
        return self._wait(job, number)

    def stop(self) -> None:
        """Cancel all awaited jobs; a cancelled training writes a checkpoint."""
        with self._guard:
            self._stopped = True
            numbers = list(self._numbers.values())
        if numbers:
            try:
                _slurm("scancel", *numbers)
            except UserError as error:
                self._say(f"{error}; these jobs are still running: {', '.join(numbers)}")

    def _wait(self, job: Job, number: str) -> int | None:
        self._numbers[job.name] = number
        seen = time.monotonic()
        try:
            while (code := job.ended()) is None:
                self._pause()
                if (queue := self._in_queue()) is None or job.name in queue:
                    seen = time.monotonic()
                elif time.monotonic() - seen > LOST:
                    return job.ended()  # it may have ended during the call of squeue
            return code
        finally:
            self._numbers.pop(job.name, None)

    def _pause(self) -> None:
        if self._stopped:
            raise Stopped
        time.sleep(BEAT)

    def _in_queue(self) -> Mapping[str, str] | None:
        """Numbers of the user's jobs by name; None if squeue fails."""
        with self._guard:
            if time.monotonic() - self._asked >= EVERY:
                words = ("--noheader", f"--user={os.getuid()}", "--format=%i %j")
                try:
                    lines = _slurm("squeue", *words).splitlines()
                    pairs = (line.strip().partition(" ") for line in lines)
                    self._queue = {name: number for number, _, name in pairs}
                except UserError:
                    self._queue = None
                self._asked = time.monotonic()
            return self._queue


def _slurm(program: str, *words: str, environment: Mapping[str, str] = {}) -> str:
    """The output of a Slurm command; a keyboard interrupt does not reach it.

    Raises:
        UserError: the command is not installed or fails.
    """
    try:
        done = subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
            check=False,
        )
    except OSError as error:
        raise UserError(f"`{program}` must be installed; {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no error message"]
        raise UserError(f"{program} ended with {done.returncode}: {lines[-1]}")
    return done.stdout
