"""What tells languages apart in a run's scores.

lid.176 where the variable LID names its file, or where it lies in this clone; else, at a scale with
`detector = "lid.176"`, wherever a download has left it; else what the file's `score` says, as a
rule a classifier trained on the corpus, which every machine has.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.fasttext import FastText
from tdo_plugin.metrics.language_id.lid176 import find_lid176

CLONE = Path(__file__).resolve().parents[2]


def lid_words(cached: bool, say: Callable[[str], None]) -> tuple[str, ...]:
    """Words of `tdo score`; none where the file's own choice stays.

    Args:
        cached: whether lid.176 is taken from where a download has left it.
        say: with `cached` told what is taken, and why.

    Raises:
        UserError: LID names no file, or there is nothing to read it with.
    """
    named = os.environ.get("LID")
    if named and not Path(named).is_file():
        raise UserError(f"`LID` must name fastText's lid.176; {named} is no file")
    found = [Path(named)] if named else []
    found += [path for end in ("bin", "ftz") if (path := CLONE / f"lid.176.{end}").is_file()]
    if found and find_spec("fasttext") is None:
        raise UserError(
            f"`LID` must be left out where the module fasttext is not installed (pip install "
            f"fasttext-predict); it is {found[0]}"
        )
    if not found and cached:
        try:
            found = [find_lid176()]
            FastText(found[0])
        except UserError as error:
            found = []
            say(f"off-target shares: by a classifier trained on the corpus ({error})")
    if found and cached:
        say(f"off-target shares: by {found[0]}")
    return ("--lid", str(found[0].resolve())) if found else ()
