"""Monolingual text as training data: makes a folder for `--monolingual`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tdo_plugin.corpora.single_language_text import MonolingualTexts, line_of, place
from tdo_plugin.data.auxiliary_folder import MONOLINGUAL, FurtherFolder, make_further
from tdo_plugin.data.set_parts import TextSet

Say = Callable[[str], object]


def make_monolingual(
    texts: MonolingualTexts, out: Path, max_pieces: int, workers: int, fresh: bool, say: Say
) -> None:
    """Clean, segment and binarise monolingual texts, unless already done.

    Args:
        texts: the source text.
        out: the folder to make.
        max_pieces: longer lines are left out.
        workers: processes at a time.
        fresh: ignore earlier results.
        say: gets a line for each language.

    Raises:
        UserError: the text is unusable, or the folder has other content.
    """
    folder = FurtherFolder(out, MONOLINGUAL)
    settings = {**texts.settings, "max_pieces": max_pieces}
    if folder.is_whole(settings, fresh):
        say(f"{out} is already complete")
        return
    facts = texts.write(out, workers)
    sets = [
        TextSet("train", (language, language), (place(out, language),)) for language in texts.files
    ]
    dropped = make_further(folder, texts.data.root, sets, max_pieces, workers)
    outcome = {}
    for text_set in sets:
        language, left = text_set.pair[0], dropped[text_set.name]
        language_facts = facts[language]
        language_facts["taken"] |= {"without pieces": left.empty, "too long": left.long}
        language_facts["kept"] = left.kept
        outcome[language] = language_facts
        say(line_of(language, language_facts))
    names = {f"{language}-{language}": outcome[language]["kept"] for language in outcome}
    folder.finish(settings, {"sets": names, "lines": outcome})
