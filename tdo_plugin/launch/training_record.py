"""The record that `tdo train` writes to its checkpoint folder, for `tdo resume`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tdo_plugin.data.databin import DataFolder, read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training_config import IMPORTING, Config, with_lines
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json, typed

RECORD = "train.json"
# options of a training run that prevent resuming it
ONCE = {
    IMPORTING: "which imports code",
    "--restore-file": "from which fairseq would start again",
}


@dataclass(frozen=True)
class TrainingRecord:
    """The inputs of a training run.

    Attributes:
        config: the lines of its config, with included lines.
        data: the data folder.
        machine: the machines it runs on.
        precision: the number format.
        extra: further flags of fairseq-train.
    """

    config: tuple[str, ...]
    data: str
    machine: Machine
    precision: str
    extra: tuple[str, ...]

    def words(self, save_dir: Path, data: DataFolder | None = None) -> tuple[list[str], str]:
        """The command of one machine, and a note about the batch size; see `train_words`.

        Args:
            save_dir: the checkpoint folder.
            data: another folder than the training's.
        """
        config = with_lines(Config(), self.config, save_dir / RECORD, f"`{RECORD}`")
        data = data or read_data_folder(Path(self.data))
        return train_words(config, data, save_dir, self.machine, self.precision, self.extra)

    def write(self, save_dir: Path) -> None:
        """Write the record to the checkpoint folder.

        Each machine of a training writes the same record, maybe at the same time, so each writes
        it in a folder of its own first.
        """
        save_dir.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        with TemporaryDirectory(prefix=f".{RECORD}.", dir=save_dir) as folder:
            write_text(Path(folder, RECORD), [text])
            os.replace(Path(folder, RECORD), save_dir / RECORD)


def read_record(save_dir: Path) -> TrainingRecord:
    """Read the record of the training in a folder.

    Raises:
        UserError: the folder has no record, or the training cannot be resumed from its record.
    """
    path = save_dir / RECORD
    if not path.is_file():
        raise UserError(
            f"`SAVE_DIR` must be a checkpoint folder of tdo train; {save_dir} has no {RECORD}"
        )
    try:
        record: TrainingRecord = typed(read_json(path), TrainingRecord, "it")
    except ValueError as error:
        raise UserError(f"`SAVE_DIR` must have a {RECORD} of tdo train; {path}: {error}") from None
    options = {
        word.partition("=")[0] for line in (*record.config, *record.extra) for word in line.split()
    }
    for option, reason in ONCE.items():
        if option in options:
            raise UserError(
                f"`SAVE_DIR` must be from a training run without {option}, {reason}; {save_dir} is "
                "not (run its tdo train command again, with the options to continue with)"
            )
    return record
