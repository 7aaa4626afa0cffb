"""Steps of a run: their commands, needs and outputs, and a key of everything they depend on.

A step's key depends only on its commands, its files, the keys of the steps that it needs, and a
data folder given by the user, not on the location of the run folder. RUN/.steps/NAME.json records
the key with which a step was begun and, at the end, that it is done, so that incomplete steps do
not count.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tdo_compat.settings import shown as quoted
from tdo_plugin.errors import UserError
from tdo_plugin.names import on_one_line
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json

RECORDS = ".steps"
SCRIPT = "python"  # first word of a command that runs a script of this clone instead of `tdo`
Command = tuple[str, ...]
# device requirements of computing commands: training, all GPUs, or one GPU
DEVICES = {
    "train": "train",
    "translate": "all",
    "backtranslate": "all",
    "importance": "all",
    "preference": "one",
    "probe": "one",
}
# options by command -> their names in 0.2
_WRITTEN = {"--out": "--output", "--fresh": "--force"}
EARLIER = {
    "average": {**_WRITTEN, "--path": "--inputs"},
    "convert": {"--langs": "--languages", "--fresh": "--force"},
    "corpus": {
        **{"--langs": "--languages", "--fresh": "--force"},
        **{"--hub": "--center", "--share-hub": "--share-center"},
    },
    "neurons ablate": _WRITTEN,
    "neurons allocate": {"--fresh": "--force"},
    "preference": {"--langs": "--languages"},
}
PICTURES = {"curve", "preference", "probe", "draw"}  # commands that draw figures


@dataclass(frozen=True)
class Step:
    """Work that is done once.

    Attributes:
        name: unique name in the run, a path below the run folder.
        kind: data, made, training, checkpoint, output, translation, scores, report, drawing.
        commands: words of `tdo` commands, or of scripts (`SCRIPT`), run in order.
        needs: names of the steps that must be done before.
        leaves: output files and folders, removed before the step is redone with another key.
        files: texts to write before the commands run, by path.
        start: flags of the last command if `resumes` does not exist.
        resumes: a file from which an interrupted step resumes.
        device: device requirement (see `DEVICES`), which adds machine options to the last command.
        silent: words added to the last command that do not affect the output.
        updates: number of updates of a training run, for time estimates.
        place: an output folder that only one step at a time may write to.
        text: file for standard output (default: the log); included in `leaves`.
        spared: optional needs by name: the step runs if at least one of them succeeded, without the
            words of its commands that belong to the failed ones.
        of: anything else that the step depends on.
    """

    name: str
    kind: str
    commands: tuple[Command, ...]
    needs: tuple[str, ...] = ()
    leaves: tuple[Path, ...] = ()
    files: Mapping[Path, str] = field(default_factory=dict)
    start: Command = ()
    resumes: Path | None = None
    device: str = ""
    silent: Command = ()
    updates: int = 0
    place: str = ""
    text: Path | None = None
    spared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of: str = ""

    def kept_back(self, failed: Collection[str]) -> bool:
        """Whether the failed steps prevent this step."""
        lost = {need for need in self.needs if need in failed}
        return bool(lost - self.spared.keys()) or bool(self.spared and lost >= self.spared.keys())

    def without(self, failed: Iterable[str]) -> tuple[Command, ...]:
        """The commands without the words that belong to the failed steps."""
        lost = {word for need in failed for word in self.spared.get(need, ()) if word}
        return tuple(
            tuple(word for word in command if word not in lost) for command in self.commands
        )


class Graph:
    """Steps by name, each after the steps it needs."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._steps: dict[str, Step] = {}
        self._keys: dict[str, str] = {}

    def add(self, step: Step) -> str:
        """Add a step unless it is present; returns its name.

        Raises:
            UserError: a different step has the same name.
        """
        if self._steps.setdefault(step.name, step) != step:
            raise UserError(
                f"`{step.name}` must be made in a single way; two rows, or two entries of made, "
                "define it differently: rename one, or change its place"
            )
        return step.name

    def place(self, *parts: str) -> Path:
        """A path below the run folder.

        Args:
            parts: path components, the last of them from an experiment file.

        Raises:
            UserError: the last component leads out of the folder, or to hidden files.
        """
        text = parts[-1]
        names = text.split("/")
        if any(name.startswith(".") or not name for name in names) or not on_one_line(text):
            raise UserError(
                f"`{quoted(text)}` must be a path below the run folder, without names that are "
                "empty or begin with a dot; it is not"
            )
        return self.run.joinpath(*parts)

    def __contains__(self, name: str) -> bool:
        return name in self._steps

    def __getitem__(self, name: str) -> Step:
        return self._steps[name]

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps.values())

    def key(self, name: str) -> str:
        """A digest of everything that a step depends on."""
        if name not in self._keys:
            step = self._steps[name]
            content = {
                "commands": [_as_before(command) for command in (*step.commands, step.start)],
                "files": list(step.files.values()),
                "needs": [self.key(need) for need in step.needs],
            } | ({"of": step.of} if step.of else {})
            text = json.dumps(content, ensure_ascii=False).replace(f"{self.run}/", "RUN/")
            self._keys[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._keys[name]

    def closure(self, names: Iterable[str]) -> list[Step]:
        """These steps and all that they need, in the order in which they were added."""
        wanted: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in wanted:
                wanted.add(name)
                waiting += self._steps[name].needs
        return [step for step in self if step.name in wanted]

    def record(self, name: str) -> Record:
        """The record of a step."""
        return Record(self.run / RECORDS / f"{name}.json", self.key(name))

    def drawn(self, table: str) -> Iterator[str]:
        """Names of all drawing steps of a table that were ever begun."""
        records = self.run / RECORDS
        for path in (records / table).rglob("drawing.json"):
            yield path.relative_to(records).with_suffix("").as_posix()

    def foreign(self, step: Step) -> Iterator[Path]:
        """Files at a step's output paths that were not made by any run.

        A training belongs to its own step; other files belong to the run if one of its steps made
        the folder.
        """
        records = self.run / RECORDS
        if self.record(step.name).path.exists():
            return
        if step.resumes is not None and step.resumes.exists():
            yield step.resumes.parent
        for leaf in filter(_holds, step.leaves):
            place = leaf.relative_to(self.run)
            folders = {place, place.parent} - {Path()}
            if not any(any((records / folder).rglob("*.json")) for folder in folders):
                yield leaf

    def log(self, name: str) -> Path:
        """The path of a step's log."""
        if self._steps[name].kind == "training":
            return (self.run / name).parent / "train.log"
        return self.run / RECORDS / f"{name}.log"

    def done(self, name: str) -> bool:
        """Whether the step is done with its current key."""
        return self.record(name).done()


@dataclass(frozen=True)
class Record:
    """A step's record: the key with which it was begun, whether it is done, how long it took."""

    path: Path
    key: str

    def _content(self) -> Mapping[str, object]:
        try:
            content = read_json(self.path)
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def done(self) -> bool:
        """Whether the step was done with this key."""
        content = self._content()
        return content.get("key") == self.key and bool(content.get("done"))

    def begun(self) -> bool:
        """Whether the step was begun with this key."""
        return self._content().get("key") == self.key

    def begin(self, leaves: Sequence[Path]) -> None:
        """Record that the step begins; first removes old output, unless the step resumes."""
        if self.begun() and not self.done():
            return
        self._write({"key": "", "done": False})
        remove(leaves)
        self._write({"key": self.key, "done": False})

    def forget(self) -> None:
        """Record that the step must be redone, if it was ever begun."""
        if self.path.exists():
            self._write({"key": "", "done": False})

    def end(self, seconds: float) -> None:
        """Record that the step is done."""
        self._write({"key": self.key, "done": True, "seconds": round(seconds, 1)})

    def _write(self, content: Mapping[str, object]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.path, [json.dumps(content)])


def _as_before(command: Command) -> list[str]:
    """The command with the earlier names of its options, so that runs of 0.2 keep their steps."""
    earlier = EARLIER.get(" ".join(command[:1])) or EARLIER.get(" ".join(command[:2]), {})
    return [earlier.get(word, word) for word in command]


def _holds(path: Path) -> bool:
    """Whether a path exists and is not an empty folder."""
    return any(path.iterdir()) if path.is_dir() else path.exists()


def remove(paths: Iterable[Path]) -> None:
    """Remove existing files and folders."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def shown(command: Sequence[str]) -> str:
    """A command as a shell command line."""
    return f"+ {'' if command[0] == SCRIPT else 'tdo '}{shlex.join(command)}"


def cannot_draw() -> str:
    """The first missing package that figures require; empty if all are installed."""
    return next((name for name in ("matplotlib", "scipy") if find_spec(name) is None), "")


def drawn_here(commands: Iterable[Command]) -> tuple[Command, ...]:
    """The commands, with --no-figures if a package for figures is missing."""
    return tuple(
        (*words, "--no-figures") if cannot_draw() and set(words[:2]) & PICTURES else words
        for words in commands
    )


def device_of(commands: Iterable[Sequence[str]]) -> str:
    """The device requirement of commands (`DEVICES`); empty if none computes."""
    words = (word for command in commands for word in command[:2])
    return next((DEVICES[word] for word in words if word in DEVICES), "")
