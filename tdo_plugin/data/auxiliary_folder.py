"""Folders of auxiliary training data, which share the model and dictionary of a data folder.

train.en-en.en.{bin,idx}               text of one language, or
train.de-en.{de,en}.{bin,idx}          sentence pairs
spm.model, spm.vocab, dict.txt         the data folder's
pieces/, work/                         segmented text; records of the steps that made it
monolingual.json, back-translated.json settings, and digests of the files that training reads;
                                       written last, so it marks a complete folder
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdo_compat.digests import DIGESTS, digests, seal
from tdo_plugin.data import binarization
from tdo_plugin.data.finished_folder import digests_of, remove_strays
from tdo_plugin.data.folder_steps import TAKEN, make_sets, taken_model_step
from tdo_plugin.data.segmentation import Dropped, load_model
from tdo_plugin.data.set_parts import Encoding, TextSet
from tdo_plugin.errors import UserError
from tdo_plugin.names import check_directions
from tdo_plugin.runtime.files import sha256, write_text
from tdo_plugin.runtime.steps import Steps
from tdo_plugin.typed import read_json, typed

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """The kind of data in a folder.

    Attributes:
        name: of its marker file, without `.json`.
        command: that makes it.
        option: of trainings that use it.
    """

    name: str
    command: str
    option: str


MONOLINGUAL = Kind("monolingual", "tdo monolingual", "--monolingual")
BACK_TRANSLATED = Kind("back-translated", "tdo backtranslate", "--back-translated")


@dataclass(frozen=True)
class FurtherFolder:
    """A folder of one kind, complete or unfinished."""

    root: Path
    kind: Kind

    @property
    def mark(self) -> Path:
        """The file that exists when the folder is complete."""
        return self.root / f"{self.kind.name}.json"

    @property
    def begun(self) -> Path:
        """The file that exists from the start."""
        return self.root / "work" / f"{self.kind.name}.begun"

    def is_whole(self, settings: Settings, fresh: bool) -> bool:
        """Whether the folder is complete; otherwise it is marked as begun.

        What an unfinished run left is reused, unless `fresh`.

        Raises:
            UserError: it is complete but was made with other settings, or it is another folder.
        """
        if not fresh and (stored := _read(self.mark)) is not None:
            if stored["settings"] == settings:
                return True
            raise UserError(
                f"`--out` must be a new folder, or `--fresh` given; {self.root} was made from "
                "other text or with other settings"
            )
        contents = [path for path in self.root.glob("*") if not path.name.startswith(".")]
        if contents and not (self.begun.is_file() or self.mark.is_file()):
            raise UserError(
                f"`--out` must be a new folder, or one of {self.kind.command}; {self.root} has "
                "other content"
            )
        if fresh:
            shutil.rmtree(self.begun.parent, ignore_errors=True)
        self.begun.parent.mkdir(exist_ok=True)
        write_text(self.begun, [])
        self.mark.unlink(missing_ok=True)
        return False

    def finish(self, settings: Settings, outcome: Mapping[str, Any]) -> None:
        """Mark the folder complete.

        Args:
            settings: that it was made with.
            outcome: results to record, including `sets`: rows by name (`de-en`).
        """
        names = [path.name for path in self.root.iterdir() if path.is_file()]
        content: dict[str, Any] = {"settings": settings, **outcome}
        content[DIGESTS] = digests_of(self.root, names)
        content[DIGESTS][self.mark.name] = seal(content)
        write_text(self.mark, [json.dumps(content, indent=1, ensure_ascii=False)])


def read_further(root: Path, kind: Kind) -> dict[str, int]:
    """Training rows of a complete folder by pair (`de-en`; `en-en` for text of one language).

    Raises:
        UserError: it is not complete.
        DamagedData: its marker file has changed.
    """
    digests(str(FurtherFolder(root, kind).mark))
    stored = _read(FurtherFolder(root, kind).mark)
    if stored is None:
        raise UserError(
            f"`{kind.option}` must be a folder that {kind.command} finished; {root} is not one"
        )
    sets: dict[str, int] = stored["sets"]
    check_directions(sets, f"`{FurtherFolder(root, kind).mark}`")
    return sets


def make_further(
    folder: FurtherFolder, model_of: Path, sets: Sequence[TextSet], max_pieces: int, workers: int
) -> dict[str, Dropped]:
    """Segment the text of a folder and binarise it.

    Args:
        folder: to write to; results of an earlier run on other text are removed.
        model_of: the data folder that provides model and dictionary.
        sets: the text, in the form that the model expects.
        max_pieces: rows with a longer side are left out.
        workers: processes at a time.

    Returns:
        The numbers of rows left out of each set, by its name.

    Raises:
        UserError: nothing is left of a set.
    """
    binarization.load()  # so that later processes inherit fairseq
    with Steps(folder.root, workers) as steps:
        taken = taken_model_step(model_of)
        steps.run([taken])
        model = folder.root / TAKEN[0]
        encoding = Encoding(
            folder.root, load_model(model), sha256(model), max_pieces, False, sha256
        )
        dropped = make_sets(sets, encoding, [""], steps, begun=lambda step: None)
        steps.forget(taken.name, *(text_set.name for text_set in sets))
        files = steps.files()
    remove_strays(folder.root, files)
    return dropped


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = read_json(path)
        typed(content["settings"], dict[str, Any], "it")
        typed(content["sets"], dict[str, int], "it")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    stored: dict[str, Any] = content
    return stored
