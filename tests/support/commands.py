"""The stock commands in processes of their own, `tdo` in this one, and what they print."""

import contextlib
import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from support.data import PACKAGE, kept_logging
from support.processes import finished, heard

from tdo_plugin.cli import main
from tdo_plugin.runtime import lock


def warning_filters() -> str:
    """Turns warnings that our own files cause into errors; Python knows whole names only here."""
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.parent.glob("tdo_compat/*.py")]
    files = [path.relative_to(PACKAGE.parent) for path in paths]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    return ",".join(f"error:::{name}" for name in names)


def environment() -> dict[str, str]:
    """For our own processes, and those that they start."""
    settings = {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    return {**os.environ, **settings, "PYTHONWARNINGS": warning_filters()}


def command(name: str, *flags, stdin: str = "", launcher=()) -> subprocess.CompletedProcess:
    """A stock command, ``train`` for fairseq-train, in a process of its own, which reads ``stdin``.

    A launcher, as words behind ``python``, may start it.
    """
    plugin = () if name in ("preprocess", "score") else ("--user-dir", str(PACKAGE))
    words = [sys.executable, *launcher, "-m", f"fairseq_cli.{name}", *flags, *plugin]
    return finished(words, stdin=stdin, env=environment())


def succeed(name: str, *flags, **options) -> str:
    """Output (stdout, then stderr) of a command that must succeed, without warnings of ours."""
    return heard(command(name, *flags, **options))


def two_workers(*flags, save_dir) -> str:
    """Output of `fairseq-train` with two workers, which torchrun starts, on the CPU."""
    return succeed(
        "train",
        *(*flags, "--save-dir", save_dir, "--distributed-backend", "gloo"),
        *("--ddp-backend", "legacy_ddp", "--distributed-no-spawn"),
        launcher=("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"),
    )


def exit_code(*words: object) -> Any:
    """How `tdo` ends in this process."""
    # where another run has the folder, it is not about to end
    with kept_logging(), mock.patch.object(lock, "PATIENCE", 0.1):
        try:
            return main(list(map(str, words)))
        except SystemExit as end:
            return end.code


def told(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What `tdo` prints and says in this process, which must end with this exit code."""
    actual = exit_code(*words)
    output = capsys.readouterr()
    assert actual == code, output
    return output.out, output.err


def printed(*words: object) -> str:
    """What a `tdo` that succeeds prints in this process, where there is no ``capsys``."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert exit_code(*words) == 0
    return output.getvalue()


def shown_commands(printed: str) -> list[list[str]]:
    """The commands that `tdo` shows before it runs them."""
    return [shlex.split(line[2:]) for line in printed.splitlines() if line.startswith("+ ")]


def csv_rows(path: Path) -> list[dict[str, str]]:
    """A table that a command wrote."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def logged(output: str, key: str) -> list[float]:
    """A value of every JSON line of a log, of those that have it."""
    lines = [json.loads(line) for line in re.findall(r"\{\".*\}$", output, re.MULTILINE)]
    return [float(line[key]) for line in lines if key in line]


def hypotheses(output: str) -> dict[int, str]:
    """The first hypothesis of each sentence, by number."""
    matches = re.findall(r"^H-(\d+)\t[^\t]*\t(.*)$", output, re.MULTILINE)
    return {int(number): words for number, words in reversed(matches)}


def scores(output: str) -> dict[int, float]:
    """Its score."""
    matches = re.findall(r"^H-(\d+)\t([^\t]*)\t", output, re.MULTILINE)
    return {int(number): float(score) for number, score in reversed(matches)}
