"""What the tests of `tdo translate` share."""

import subprocess
import sys
from pathlib import Path

from integration.data import environment
from integration.prepared import prepared, trained


def lines(path: Path) -> list[str]:
    """Of a text file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def started(*words: object) -> "subprocess.Popen[str]":
    """`tdo translate` in a process of its own."""
    return begun("translate", prepared().root, "--cpu", "--path", trained(), *words)


def begun(*words: object) -> "subprocess.Popen[str]":
    """A command in a process of its own."""
    command = [sys.executable, "-m", "tdo_plugin", *map(str, words)]
    return subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
