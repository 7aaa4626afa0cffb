"""Processes that cannot outlive their test, and that are heard when they fail."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LIMIT = 600.0  # seconds; of one command, far above what any takes on a busy machine


def finished(
    words: Sequence[object],
    limit: float = LIMIT,
    stdin: str = "",
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """A command's output and exit code.

    One that does not end in time is killed with all that it has started, and the test fails with
    what they had said until then.
    """
    process = subprocess.Popen(
        list(map(str, words)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(stdin, timeout=limit)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        raise AssertionError(f"no end after {limit} seconds: {words}\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def heard(done: subprocess.CompletedProcess[str], code: int = 0) -> str:
    """All that a command said, standard output first, which must have ended with this code."""
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something, but not longer than this."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_for_files(
    process: subprocess.Popen[str], folder: Path, pattern: str, count: int = 1
) -> None:
    """Wait until a process has written so many files."""
    while len(list(folder.glob(pattern))) < count:
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.005)
