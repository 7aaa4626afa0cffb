"""The text folder of all splits, and text of one language alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from tdo_plugin.corpora.making import CHUNK, Making, Record, text_form
from tdo_plugin.corpora.rows.drawing import draw, generator
from tdo_plugin.data.segmentation import write_text
from tdo_plugin.data.textfolder import count_lines, read_lines
from tdo_plugin.metrics.textform import TextForm, truecaser
from tdo_plugin.metrics.truecasing import train_truecaser


def write_text_folder(making: Making, records: Sequence[Record], folder: Path, out: Path) -> None:
    """The text folder of all splits, truecased where the corpus wants it.

    Files are linked where nothing is done to them. What was there before is replaced.

    Args:
        making: see `Making`.
        records: of all splits.
        folder: to write.
        out: the data folder, which gets the truecasing models.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    corpus = making.corpus
    texts = [
        (making.tokens(record.split, record.pair, language), record.split, language)
        for record in records
        for language in record.pair
    ]
    if corpus.form.casing != "truecased":
        for path, _, _ in texts:
            os.link(path, folder / path.name)
        return
    form = text_form(corpus.form)
    for language in corpus.languages:
        training = [path for path, split, own in texts if own == language and split == "train"]
        train_truecaser(training, truecaser(out, language))
    for path, _, language in texts:
        write_text(folder / path.name, _cased(path, language, form, out))


def _cased(path: Path, language: str, form: TextForm, out: Path) -> Iterator[str]:
    lines = read_lines(path)
    while chunk := list(islice(lines, CHUNK)):
        yield from form.cased(chunk, language, out)


def write_monolingual(making: Making, folder: Path, say: Callable[[str], None]) -> None:
    """Lines of one language beside the pairs, drawn at random, as `mono.LANGUAGE`."""
    for one in making.corpus.monolingual:
        files = making.files[one.text]

        def lines(files: Sequence[Path] = files) -> Iterator[str]:
            return (line for path in files for line in read_lines(path) if line.strip())

        total = sum(1 for _ in lines())
        chance = generator(one.seed, (one.language, one.language), "monolingual")
        target = folder / f"mono.{one.language}"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(target, draw(lines(), total, one.rows, chance))
        say(f"{one.language} alone: {total:,} lines, {count_lines(target):,} kept")
