"""The folder of a run: what is in it, what it was made of, how far it is.

run.json            what the training and the translation depend on, and whether they are done
cell.conf           the config, resolved
train.log           all that fairseq-train said; of a resumed training too
checkpoints/
translate.log
output/             of `tdo translate`
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError
from tdo_plugin.grid.cells import Run
from tdo_plugin.grid.description import Grid
from tdo_plugin.runtime.files import sha256, write_text
from tdo_plugin.runtime.lock import LOCK
from tdo_plugin.typed import read_json, typed

NOT_BEGUN, BEGUN, TRAINED, TRANSLATED = "not begun", "begun", "trained", "translated"
ENDED = re.compile(rb"\| done training in ")  # what fairseq-train says last
PARAMETERS = re.compile(rb"num\. shared model params: ([\d,]+)")
# what may be there before run.json is
UNRECORDED = {LOCK, "cell.conf", "cell.conf.partial", "run.json.partial"}
PART = 1 << 20  # bytes of a log in which to look


class OtherTraining(UserError):
    """A run's folder has a training of another config, other flags or other data."""


@dataclass(frozen=True)
class Training:
    """What a training was made of, in `run.json`; see `RunFolder`."""

    config: dict[str, Any]
    behind: tuple[str, ...]
    data: str


@dataclass(frozen=True)
class Record:
    """`run.json`."""

    training: Training
    trained: bool = False
    translation: dict[str, Any] | None = None
    translated: bool = False


@dataclass(frozen=True)
class RunFolder:
    """A run's place, and all that what it holds depends on.

    Attributes:
        run: which.
        path: the folder.
        training: config, flags behind it (None: any will do), digest of the data folder.
        translation: options and directions; None where test sets are not translated.
    """

    run: Run
    path: Path
    training: Mapping[str, Any]
    translation: Mapping[str, Any] | None

    @property
    def train_log(self) -> Path:
        """What the training says."""
        return self.path / "train.log"

    @property
    def validations(self) -> Path:
        """What the training measured on validation sets, a JSON object a line."""
        return self.path / "checkpoints" / "validation.jsonl"

    @property
    def translate_log(self) -> Path:
        """What the translation says."""
        return self.path / "translate.log"

    @property
    def output(self) -> Path:
        """The hypotheses."""
        return self.path / "output"

    def state(self) -> str:
        """How far it is: `NOT_BEGUN`, `BEGUN`, `TRAINED` or `TRANSLATED`, as asked for.

        Raises:
            OtherTraining: it is of another config, other flags or other data.
            UserError: it is not a folder of `tdo grid`.
        """
        record = self._read()
        if not record:
            if self.path.is_dir() and {path.name for path in self.path.iterdir()} - UNRECORDED:
                raise UserError(
                    f"`--out` must be a folder of tdo grid, or a new one; {self.path} has files of "
                    "something else"
                )
            return NOT_BEGUN
        if differing := self._differing(record):
            raise OtherTraining(
                f"`--out` must be a new folder, or --fresh given; {self.path} was trained with "
                f"{', '.join(differing)}"
            )
        if not (record.get("trained") or _search(self.train_log, ENDED, from_end=True)):
            return BEGUN
        if record.get("translated") and record.get("translation") == self.translation:
            return TRANSLATED
        return TRAINED

    @property
    def final(self) -> str:
        """The state in which it is done."""
        return TRAINED if self.translation is None else TRANSLATED

    def _differing(self, record: Mapping[str, Any]) -> list[str]:
        """What a record was made of that is not as asked for."""
        before = record["training"]
        differences = [
            f"{name} {_shown(before['config'].get(name))} instead of {_shown(value)}"
            for name, value in _both(before["config"], self.training["config"])
            if before["config"].get(name) != value
        ]
        requested = self.training["behind"]
        if requested is not None and before["behind"] != requested:
            words = [" ".join(flags) or "nothing" for flags in (before["behind"], requested)]
            differences.append(f"{words[0]} behind `--` instead of {words[1]}")
        return [*differences, *(["other data"] if before["data"] != self.training["data"] else [])]

    def begin(self) -> None:
        """Make it ready for a training; what is there already stays."""
        write_text(self.path / "cell.conf", self.run.config.lines())
        if not self._read():
            self._write({"training": self.training})

    def empty(self) -> None:
        """Remove everything but the lock."""
        for path in self.path.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()

    def trained(self) -> None:
        """Take note that the training has ended well."""
        self._write({**self._read(), "trained": True})

    def begin_translation(self) -> bool:
        """Take note of what is asked for; whether something else was translated before."""
        record = self._read()
        before = record.get("translation", self.translation)
        self._write({**record, "translation": self.translation, "translated": False})
        return bool(before != self.translation)

    def translated(self) -> None:
        """Take note that the translation has ended well."""
        self._write({**self._read(), "translated": True})

    def behind(self) -> list[str]:
        """The flags behind the config's that it was trained with."""
        return list(self._read()["training"]["behind"])

    def parameters(self) -> int | None:
        """The model's, as the training said them."""
        match = _search(self.train_log, PARAMETERS)
        return int(match[1].replace(b",", b"")) if match else None

    def _read(self) -> dict[str, Any]:
        path = self.path / "run.json"
        if not path.is_file():
            return {}
        try:
            content = read_json(path)
            typed(content, Record, "it")
        except ValueError as error:
            raise UserError(
                f"`--out` must have whole records; {path} is not one (--fresh trains anew): {error}"
            ) from None
        record: dict[str, Any] = content
        return record

    def _write(self, record: Mapping[str, Any]) -> None:
        write_text(self.path / "run.json", [json.dumps(record, indent=1, ensure_ascii=False)])


def folders(
    grid: Grid, runs: Sequence[Run], out: Path, data: Path, behind: Sequence[str] | None
) -> list[RunFolder]:
    """Where runs are made, and what they depend on.

    Args:
        grid: of which they are.
        runs: some of it.
        out: the folder of all runs.
        data: the data folder.
        behind: flags of fairseq-train behind a config's own; None where any will do.
    """
    digest = sha256(data / MARK)
    translation = {"options": list(grid.translate), "directions": grid.directions}
    requested = translation if grid.measure == "test" else None
    return [
        RunFolder(
            run,
            out / run.name,
            {
                "config": _flat(run),
                "behind": None if behind is None else list(behind),
                "data": digest,
            },
            requested,
        )
        for run in runs
    ]


def _flat(run: Run) -> dict[str, Any]:
    """A config as JSON has it: flags beside what is said of machine and data."""
    about = asdict(run.config)
    flags: dict[str, Any] = about.pop("flags")
    return {**about, **flags}


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Every key of both with the value of the second."""
    return [(key, second.get(key)) for key in {**first, **second}]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(value) or "set"
    return "nothing" if value is None else str(value)


def _search(log: Path, pattern: re.Pattern[bytes], from_end: bool = False) -> Any:
    """The first match of a pattern in the beginning, or the last in the end, of a log."""
    try:
        with log.open("rb") as stream:
            if from_end:
                stream.seek(max(0, log.stat().st_size - PART))
            matches = list(pattern.finditer(stream.read(PART)))
    except OSError:
        return None
    return matches[-1 if from_end else 0] if matches else None
