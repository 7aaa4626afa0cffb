"""What all tests share: a subprocess runner, one torch thread, and the repository's root."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell's background jobs ignore interrupts, and so would every process that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def run() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``run(command, *arguments, **options of subprocess.run)`` with text captured.

    A command named ``python`` is this Python; any other is looked up beside it first.
    """

    def run(command: str, *arguments: object, **options: object) -> subprocess.CompletedProcess:
        beside = Path(sys.executable).parent / command
        program = sys.executable if command == "python" else str(beside)
        words = [program, *map(str, arguments)]
        options = {"capture_output": True, "text": True, "timeout": 180, **options}
        return subprocess.run(words, check=False, **options)

    return run
