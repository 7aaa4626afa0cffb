"""`corpus.json`: the settings that the embedded corpus in a folder was written with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.typed import read_json, typed

RECORD = "corpus.json"


@dataclass(frozen=True)
class Part:
    """The settings of one command, see `CorpusSettings`.

    `train_pairs_per_language` is one number, or a number for each pair.
    """

    version: int
    languages: tuple[str, ...]
    center: str
    share_center: bool
    seed: int
    train_pairs_per_language: Any
    valid_pairs_per_language: int
    test_sentences: int
    meanings_in_grammar: int


@dataclass(frozen=True)
class Record(Part):
    """The settings of the first command, and of later ones that added to the corpus."""

    added: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The settings of each command."""
        return (self, *self.added)

    def text(self) -> str:
        """The file's content; without `added` if nothing was added."""
        content = {name: value for name, value in asdict(self).items() if value != ()}
        return json.dumps(content, indent=2) + "\n"


def read_record(folder: Path) -> Record:
    """The record of a folder of `tdo corpus`.

    Raises:
        UserError: it is missing or unreadable.
    """
    path = folder / RECORD
    if not path.is_file():
        raise UserError(f"`--out` must be a folder of tdo corpus, with --add; {folder} is not one")
    try:
        record: Record = typed(read_json(path), Record, "it")
    except ValueError as error:
        raise UserError(f"`{path}` must be a record of tdo corpus; {error}") from None
    return record
