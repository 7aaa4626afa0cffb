"""Steps as jobs of Slurm: submitted, waited for, cancelled where the run is ended.

A job's name has the step's key, so that a run knows the jobs of one that was killed. Its script
leaves its exit code in a file when there is no other turn; nothing of Slurm's accounting is needed.
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

BEAT = 1.0  # seconds between two looks at a job's file
EVERY = 20.0  # seconds between two questions to squeue
LOST = 60.0  # seconds out of the queue after which a job without an exit code has none

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """A step's job.

    Attributes:
        step: its name.
        stem: the job's name without the step's key.
        key: of the step.
        script: file for the script; the exit code is in `code`, beside it.
        log: what it says.
        text: of the script.
        environment: variables that it has beside this process'.
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
        """As the queue has it."""
        return f"{self.stem}.{self.key}"

    @property
    def code(self) -> Path:
        """File with its exit code, once it has ended."""
        return self.script.with_suffix(f".{self.key}.code")

    @property
    def command(self) -> list[str]:
        """What submits it; these options are stronger than those of the script."""
        log = str(self.log).replace("%", "%%")
        named = [f"--job-name={self.name}", f"--output={log}"]
        return ["sbatch", "--parsable", *named, str(self.script)]

    def ended(self) -> int | None:
        """Its exit code; None as long as there is none."""
        try:
            return int(self.code.read_text())
        except (OSError, ValueError):
            return None


class SlurmJobs:
    """Jobs that several threads wait for, and one cancels.

    Args:
        say: told of each job.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._numbers: dict[str, str] = {}  # of jobs that are waited for, by name
        self._queue: dict[str, str] | None = None
        self._asked = -EVERY
        self._stopped = False
        self._guard = threading.Lock()

    def left(self, job: Job, begun: bool, waits: bool) -> bool:
        """Whether a run that was killed has left this job, and it ended well.

        It is waited for. One of another key, or of a step that is to be begun again, is cancelled.

        Args:
            job: which.
            begun: whether the step was begun with this key, and is not done.
            waits: whether this run has jobs; else none may be left.

        Raises:
            UserError: one is left, and not waited for; squeue does not answer.
            Stopped: `stop` was called.
        """
        if not job.script.exists() or not (waits or shutil.which("squeue")):
            return False
        if (queue := self._in_queue()) is None:
            raise UserError("squeue must answer, since a job may be left; it does not")
        for name, number in queue.items():
            if not name.startswith(f"{job.stem}."):
                continue
            if not waits:
                raise UserError(
                    f"`--slurm` must be given as long as job {number} of {job.step} is in Slurm's "
                    f"queue (scancel {number} ends it)"
                )
            if name == job.name and begun:
                self._say(f"{job.step}: waits for job {number}, which is there")
                return self._wait(job, number) == 0
            _slurm("scancel", number)
            while (now := self._in_queue()) is None or name in now:
                self._pause()
        return begun and job.ended() == 0

    def run(self, job: Job) -> int | None:
        """Submit a job and wait for its end; its exit code, or None where it left without one.

        Raises:
            UserError: it cannot be submitted.
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
        """Cancel all jobs that are waited for; a training writes a checkpoint when it is."""
        with self._guard:
            self._stopped = True
            numbers = list(self._numbers.values())
        if numbers:
            try:
                _slurm("scancel", *numbers)
            except UserError as error:
                self._say(f"{error}; these jobs go on: {', '.join(numbers)}")

    def _wait(self, job: Job, number: str) -> int | None:
        self._numbers[job.name] = number
        seen = time.monotonic()
        try:
            while (code := job.ended()) is None:
                self._pause()
                if (queue := self._in_queue()) is None or job.name in queue:
                    seen = time.monotonic()
                elif time.monotonic() - seen > LOST:
                    return job.ended()  # which may have come while squeue was asked
            return code
        finally:
            self._numbers.pop(job.name, None)

    def _pause(self) -> None:
        if self._stopped:
            raise Stopped
        time.sleep(BEAT)

    def _in_queue(self) -> Mapping[str, str] | None:
        """Numbers of the user's jobs by name; None where squeue does not answer."""
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
    """What one of Slurm's commands prints; an interrupt from the keyboard does not reach it.

    Raises:
        UserError: it is not there, or fails.
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
        lines = done.stderr.strip().splitlines() or ["it says nothing"]
        raise UserError(f"{program} ended with {done.returncode}: {lines[-1]}")
    return done.stdout
