"""Monolingual text, cleaned and in the form that a data folder's model expects.

In the folder that it is made for:

    work/text/en               the remaining lines, in order
    work/texts/text.en.json    the record: lines removed by each rule (see `Steps`)
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from tdo_plugin.corpora.description import Rule
from tdo_plugin.corpora.pair_rows import in_chunks
from tdo_plugin.corpora.rows.cleaning import Cleaner, HeldOut
from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.folder_steps import taken_model
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.data.textfolder import read_lines as data_lines
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import TextForm, read_text_form
from tdo_plugin.runtime.files import complete_file, sha256
from tdo_plugin.runtime.jobs import map_in_order
from tdo_plugin.runtime.steps import Facts, Step, Steps

RULES = ("empty", "unreadable", "duplicates")  # the same as for a user's training text
HELD_OUT = "held-out"


@dataclass(frozen=True)
class MonolingualTexts:
    """Monolingual texts in languages of a data folder.

    Attributes:
        data: the data folder.
        files: of each language, to be concatenated; plain or gzip.
    """

    data: DataFolder
    files: Mapping[str, Sequence[Path]]

    def check(self) -> None:
        """Check the arguments before anything is read.

        Raises:
            UserError: the data folder lacks a language, or a file is missing.
        """
        for language, paths in self.files.items():
            if language not in self.data.languages:
                raise UserError(
                    f"`--text` must be of a language of {self.data.root}, "
                    f"{', '.join(self.data.languages)}; it is {language}"
                )
            for path in paths:
                if not path.is_file():
                    raise UserError(f"`--text` must be text files; {path} is not a file")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        return {
            "model": taken_model(self.data.root, "DATA"),
            "form": read_text_form(self.data.root).stored(),
            "texts": {
                language: [sha256(path) for path in paths] for language, paths in self.files.items()
            },
        }

    def write(self, out: Path, workers: int) -> dict[str, Facts]:
        """Write the remaining lines of each language, unless an earlier run has.

        Lines are left out if they are empty, unreadable, repeated, or in a validation or test set
        of the data folder.

        Args:
            out: the folder to write to.
            workers: processes at a time.

        Returns:
            For each language the number of lines `read`, `kept` and `taken` by each rule.

        Raises:
            UserError: a file is not UTF-8 or incomplete, or nothing is left of a language.
        """
        form = read_text_form(self.data.root)
        settings = self.settings
        processes = max(1, workers // len(self.files))
        with Steps(out, workers, "texts") as steps:
            language_steps = {}
            for language, paths in self.files.items():
                held_out = _held_out_files(self.data, language)
                depends = {
                    **{name: settings[name] for name in ("model", "form")},
                    "texts": settings["texts"][language],
                    "held_out": [sha256(path) for path in held_out],
                }
                make = partial(_write, paths, language, form, self.data.root, held_out, processes)
                language_steps[language] = Step(f"text.{language}", depends, make)
            step_facts = steps.run(language_steps.values())
            steps.forget(*(step.name for step in language_steps.values()))
        facts = {language: step_facts[step.name] for language, step in language_steps.items()}
        for language, language_facts in facts.items():
            if not language_facts["kept"]:
                raise UserError(
                    f"`--text` must leave a line of {language}; {line_of(language, language_facts)}"
                )
        return facts


def place(out: Path, language: str) -> Path:
    """The file for the lines of a language in a folder."""
    return out / "work" / "text" / language


def line_of(name: str, facts: Facts) -> str:
    """A summary line: lines read, removed by each rule, and left."""
    taken = ", ".join(f"{count:,} {reason}" for reason, count in facts["taken"].items() if count)
    read = f"{name}: {facts['read']:,} lines, {facts['kept']:,} kept"
    return read + (f" ({taken})" if taken else "")


def _held_out_files(data: DataFolder, language: str) -> list[Path]:
    """Segmented validation and test text of a language."""
    pieces = data.root / "pieces"
    matches = (pieces.glob(f"{split}.*{language}") for split in ("valid", "test"))
    return [path for path in sorted(chain(*matches)) if path.suffix == f".{language}"]


def _write(
    paths: Sequence[Path],
    language: str,
    form: TextForm,
    data: Path,
    held_out: Sequence[Path],
    processes: int,
    folder: Path,
) -> Facts:
    target = place(folder, language)
    target.parent.mkdir(parents=True)
    pair, counts = (language, language), Counter({"read": 0, "kept": 0})
    cleaner = Cleaner([Rule(rule) for rule in RULES], pair, None, folder / "work")
    held_out_lines = HeldOut()
    for path in held_out:
        for line in data_lines(path):
            held_out_lines.add(language, _alike(join_pieces(line)))

    def rows() -> Iterator[tuple[str, str]]:
        for path in paths:
            for line in read_lines(path, "utf-8"):
                counts["read"] += 1
                yield line, line

    lines = (line for line, _ in cleaner.before_tokens(rows()))
    prepare = partial(_prepared, form, language, data)
    taken: Counter[str] = Counter()
    with complete_file(target) as stream:
        for line in chain.from_iterable(map_in_order(prepare, in_chunks(lines), processes)):
            if not line.strip():  # tokenization drops characters
                taken["empty"] += 1
            elif held_out_lines.has_side(pair, (_alike(line),) * 2):
                taken[HELD_OUT] += 1
            else:
                counts["kept"] += 1
                stream.write(f"{line}\n")
    reasons = {name: cleaner.counts.get(name, 0) + taken[name] for name in (*RULES, HELD_OUT)}
    return {**counts, "taken": reasons}


def _prepared(form: TextForm, language: str, data: Path, lines: Sequence[str]) -> list[str]:
    return form.prepare(lines, language, data)


def _alike(text: str) -> str:
    """Text for comparison: the segmentation model may normalize it in this way."""
    return unicodedata.normalize("NFKC", text)
