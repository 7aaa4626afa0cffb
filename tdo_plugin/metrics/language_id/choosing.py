"""The detector that a user asked for."""

from __future__ import annotations

from pathlib import Path

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.fasttext import FastText
from tdo_plugin.metrics.language_id.langdetect import LangDetect
from tdo_plugin.metrics.language_id.lid176 import find_lid176
from tdo_plugin.metrics.language_id.ngrams import Text, from_references, from_training_side
from tdo_plugin.metrics.language_id.protocol import Identifier


def identifier(
    spec: str,
    data: DataFolder | None = None,
    references: Text | None = None,
    download: bool = False,
) -> Identifier:
    """A detector by its name.

    Args:
        spec: `fasttext` (lid.176, wherever it lies), `langdetect`, `corpus` (a classifier trained
            on `data`), `references` (one trained on `references`), or a fastText model's path.
        data: a prepared folder, if there is one.
        references: reference lines by target language, if they may be learnt from.
        download: whether `fasttext` may fetch the file that it needs.

    Raises:
        UserError: none of these, or what it needs is missing.
    """
    if spec == "fasttext":
        return FastText(find_lid176(download))
    if spec == "langdetect":
        return LangDetect()
    if spec == "corpus":
        if data is None:
            raise UserError("`--lid corpus` must have `--data` to learn the languages from")
        return from_training_side(data)
    if spec == "references":
        return from_references(references or {})
    if not Path(spec).is_file():
        raise UserError(
            "`--lid` must be fasttext, langdetect, corpus, references or a fastText model file; "
            f"it is {spec}"
        )
    return FastText(Path(spec))
