"""Choosing a language detector by name."""

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
    """A detector by name.

    Args:
        spec: `fasttext` (an installed lid.176), `langdetect`, `corpus` (a classifier trained on
            `data`), `references` (a classifier trained on `references`), or the path of a fastText
            model.
        data: a data folder, if there is one.
        references: reference lines by target language, if they may be used for training.
        download: whether `fasttext` may download its model.

    Raises:
        UserError: an unknown detector, or missing requirements.
    """
    if spec == "fasttext":
        return FastText(find_lid176(download))
    if spec == "langdetect":
        return LangDetect()
    if spec == "corpus":
        if data is None:
            raise UserError("`--lid corpus` must come with `--data`, its training text")
        return from_training_side(data)
    if spec == "references":
        return from_references(references or {})
    if not Path(spec).is_file():
        raise UserError(
            "`--lid` must be fasttext, langdetect, corpus, references or a fastText model file; "
            f"it is {spec}"
        )
    return FastText(Path(spec))
