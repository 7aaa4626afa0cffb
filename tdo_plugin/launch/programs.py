"""Full paths of the programs in commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.errors import UserError

PROGRAMS = ("fairseq-train", "fairseq-generate", "torchrun")


def program(words: Sequence[str]) -> list[str]:
    """The command with the full path of every program of this Python's environment.

    `torchrun` also needs a full path, because it runs `fairseq-train` as a Python file.

    Raises:
        UserError: a program is not installed in this Python's environment.
    """
    folder = Path(sys.executable).parent
    result = list(words)
    for index, word in enumerate(words):
        if word in PROGRAMS:
            path = folder / word
            if not path.is_file():
                raise UserError(f"`{word}` must be installed in {folder}; it is not (tdo setup)")
            result[index] = str(path)
    return result
