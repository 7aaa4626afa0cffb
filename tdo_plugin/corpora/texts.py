"""The text folder of all splits, and text of one language alone."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from tdo_plugin.corpora.making import Making, Record, in_chunks
from tdo_plugin.corpora.rows.drawing import generator
from tdo_plugin.corpora.rows.readers import text
from tdo_plugin.data.sampling import draw
from tdo_plugin.data.segmentation import write_text
from tdo_plugin.data.textfolder import count_lines, read_lines
from tdo_plugin.data.workers import run_jobs
from tdo_plugin.metrics.textform import TextForm, truecaser
from tdo_plugin.metrics.truecasing import train_truecaser


def write_text_folder(
    making: Making, records: Sequence[Record], folder: Path, out: Path, workers: int
) -> None:
    """The text folder of all splits, truecased where the corpus wants it.

    Files are linked where nothing is done to them. What was there before is replaced.

    Args:
        making: see `Making`.
        records: of all splits.
        folder: to write.
        out: the data folder, which gets the truecasing models.
        workers: processes at a time.
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
            _link(path, folder / path.name)
        return
    form = corpus.form
    learned: dict[str, list[Path]] = {language: [] for language in corpus.languages}
    for path, split, language in texts:
        if split == "train":
            learned[language].append(path)
    for jobs in (
        [partial(train_truecaser, learned[one], truecaser(out, one)) for one in learned],
        [partial(_write_cased, path, language, form, out, folder) for path, _, language in texts],
    ):
        deque(run_jobs(enumerate(jobs), workers), maxlen=0)


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # a file system without links between folders
        shutil.copyfile(path, target)


def _write_cased(path: Path, language: str, form: TextForm, out: Path, folder: Path) -> None:
    chunks = in_chunks(read_lines(path))
    cased = chain.from_iterable(form.cased(chunk, language, out) for chunk in chunks)
    write_text(folder / path.name, cased)


def write_monolingual(making: Making, folder: Path, say: Callable[[str], None]) -> None:
    """Lines of one language beside the pairs, drawn at random, as `mono.LANGUAGE`."""
    for one in making.corpus.monolingual:
        files = making.files[one.text]

        def lines(files: Sequence[Path] = files) -> Iterator[str]:
            return (
                line for path in files for line in text.read_lines(path, "utf-8") if line.strip()
            )

        total = sum(1 for _ in lines())
        chance = generator(one.seed, (one.language, one.language), "monolingual")
        target = folder / f"mono.{one.language}"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(target, draw(lines(), total, min(one.rows, total), chance))
        say(f"{one.language} alone: {total:,} lines, {count_lines(target):,} kept")
