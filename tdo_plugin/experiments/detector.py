"""What tells languages apart in a run's scores.

lid.176 where the variable LID names its file, or where it lies in this clone; else a classifier
trained on the corpus, which every machine has, or, where the paper's own detector is asked for,
lid.176 wherever a download has left it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.lid176 import find_lid176

CLONE = Path(__file__).resolve().parents[2]


def lid_words(cached: bool) -> tuple[str, ...]:
    """Words of `tdo score`; none where the file's own choice stays.

    Args:
        cached: whether lid.176 is taken from where a download has left it.

    Raises:
        UserError: LID names no file.
    """
    named = os.environ.get("LID")
    if named and not Path(named).is_file():
        raise UserError(f"`LID` must name fastText's lid.176; {named} is no file")
    found = [Path(named)] if named else []
    found += [path for end in ("bin", "ftz") if (path := CLONE / f"lid.176.{end}").is_file()]
    if not found and cached:
        try:
            found = [Path(find_lid176())]
        except UserError:
            found = []
    return ("--lid", str(found[0].resolve())) if found else ()
