"""What `tdo train` began in a folder, as `tdo resume` goes on with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training_config import IMPORTING, Config, with_lines
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json, typed

RECORD = "train.json"
# what a training may begin with, and not go on with
ONCE = {
    IMPORTING: "which runs the code of a folder",
    "--restore-file": "from which fairseq would begin once more",
}


@dataclass(frozen=True)
class TrainingRecord:
    """A training.

    Attributes:
        config: the lines of its config, with all that they include.
        data: the data folder.
        machine: where it runs.
        precision: the number format there.
        extra: further flags of fairseq-train.
    """

    config: tuple[str, ...]
    data: str
    machine: Machine
    precision: str
    extra: tuple[str, ...]

    def words(self, save_dir: Path) -> tuple[list[str], str]:
        """The command of one machine, and a sentence about the batch; see `train_words`."""
        config = with_lines(Config(), self.config, save_dir / RECORD, f"`{RECORD}`")
        data = read_data_folder(Path(self.data))
        return train_words(config, data, save_dir, self.machine, self.precision, self.extra)

    def write(self, save_dir: Path) -> None:
        """Write it into the folder of the checkpoints."""
        save_dir.mkdir(parents=True, exist_ok=True)
        write_text(save_dir / RECORD, [json.dumps(asdict(self), indent=1, ensure_ascii=False)])


def read_record(save_dir: Path) -> TrainingRecord:
    """The training that was begun in a folder.

    Raises:
        UserError: none was, or one that needs more than its record.
    """
    path = save_dir / RECORD
    if not path.is_file():
        raise UserError(
            f"`SAVE_DIR` must be a folder that tdo train has trained in; {save_dir} has no {RECORD}"
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
                f"`SAVE_DIR` must be of a training without {option}, {reason}; {save_dir} is of "
                "one with it: give its tdo train line again, as it should go on"
            )
    return record
