"""The language detector of a run's scores.

lid.176 if the variable LID names its file or it is in this clone; else, at a scale with
`detector = "lid.176"`, a downloaded lid.176; else the detector in the file's `score`, usually a
classifier trained on the corpus, which is always available.
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
    """Options of `tdo score`; empty to keep the choice of the experiment file.

    Args:
        cached: whether to look for a downloaded lid.176.
        say: with `cached`, called with the choice and its reason.

    Raises:
        UserError: LID does not name a file, or fasttext is not installed.
    """
    named = os.environ.get("LID")
    if named and not Path(named).is_file():
        raise UserError(f"`LID` must name fastText's lid.176; {named} is not a file")
    found = [Path(named)] if named else []
    found += [path for end in ("bin", "ftz") if (path := CLONE / f"lid.176.{end}").is_file()]
    if found and find_spec("fasttext") is None:
        raise UserError(
            f"`LID` must be left out unless the module fasttext is installed (pip install "
            f"fasttext-predict); it is {found[0]}"
        )
    if not found and cached:
        try:
            found = [find_lid176()]
            FastText(found[0])
        except UserError as error:
            found = []
            say(f"off-target rates: by a classifier trained on the corpus ({error})")
    if found and cached:
        say(f"off-target rates: by {found[0]}")
    return ("--lid", str(found[0].resolve())) if found else ()
