"""What the tests of `tdo translate` share."""

import subprocess
import sys
from pathlib import Path

from support.commands import environment
from support.prepared import prepared, trained


def lines(path: Path) -> list[str]:
    """Of a text file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def started(*words: object, python: str | None = None) -> "subprocess.Popen[str]":
    """`tdo translate` in a process of its own."""
    command = ("translate", prepared().root, "--cpu", "--path", trained(), *words)
    return begun(*command, python=python)


def begun(*words: object, python: str | None = None) -> "subprocess.Popen[str]":
    """A command in a process of its own, by the fork server unless a Python is named."""
    command = [python or sys.executable, "-m", "tdo_plugin", *map(str, words)]
    return subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
