"""Text of single languages as training data: a folder that `--monolingual` takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tdo_plugin.corpora.single_language_text import LoneTexts, line_of, place
from tdo_plugin.data.auxiliary_folder import MONOLINGUAL, FurtherFolder, make_further
from tdo_plugin.data.set_parts import TextSet

Say = Callable[[str], object]


def make_monolingual(
    texts: LoneTexts, out: Path, max_pieces: int, workers: int, fresh: bool, say: Say
) -> None:
    """Clean, segment and binarise texts, each of one language, unless it is done already.

    Args:
        texts: what there is.
        out: the folder to make.
        max_pieces: longer lines are left out.
        workers: processes at a time.
        fresh: make it anew.
        say: gets a line for each language.

    Raises:
        UserError: text that cannot be used, or a folder of something else.
    """
    folder = FurtherFolder(out, MONOLINGUAL)
    settings = {**texts.settings, "max_pieces": max_pieces}
    if folder.is_whole(settings, fresh):
        say(f"{out} is whole already")
        return
    facts = texts.write(out, workers)
    sets = [TextSet("train", (one, one), (place(out, one),)) for one in texts.files]
    dropped = make_further(folder, texts.data.root, sets, max_pieces, workers)
    outcome = {}
    for one in sets:
        language, left = one.pair[0], dropped[one.name]
        found = facts[language]
        found["taken"] |= {"without pieces": left.empty, "too long": left.long}
        found["kept"] = left.kept
        outcome[language] = found
        say(line_of(language, found))
    names = {f"{one}-{one}": outcome[one]["kept"] for one in outcome}
    folder.finish(settings, {"sets": names, "lines": outcome})
