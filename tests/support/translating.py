"""What the tests of `tdo translate` share."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from support.commands import environment
from support.data import kept_logging
from support.prepared import prepared, trained

from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.translator import Translator
from tdo_plugin.evaluation.decoding.worker import Work, load


def lines(path: Path) -> list[str]:
    """Of a text file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def translator_of(*checkpoints: Path, **options: Any) -> Translator:
    """What translates the prepared folder's text in this process, with the usual model or these."""
    decoding = DecodingOptions(checkpoints or (trained(),), **options)
    with kept_logging():
        return load(Work(decoding, prepared(), prepared().root), "cpu")


def started(*words: object, python: str | None = None) -> "subprocess.Popen[str]":
    """`tdo translate` in a process of its own."""
    command = ("translate", prepared().root, "--cpu", "--path", trained(), *words)
    return begun(*command, python=python)


def begun(*words: object, python: str | None = None) -> "subprocess.Popen[str]":
    """A command in a process of its own, by the fork server unless a Python is named."""
    command = [python or sys.executable, "-m", "tdo_plugin", *map(str, words)]
    return subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
