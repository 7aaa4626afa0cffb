"""Steps of a run: commands, what they need and leave, and the key of all that they depend on.

A step's key is made of its commands, of the keys of the steps that it needs, of a data folder that
the user gives, and of nothing else;
where the run's folder lies makes no difference. RUN/.steps/NAME.json says with which key a step was
begun and, last of all, that it is done, so that nothing half-made counts.
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
SCRIPT = "python"  # first word of a command that is a script of this clone, and not one of `tdo`
Command = tuple[str, ...]
# what commands that compute ask of a machine: to train on it, all of it, or one GPU
DEVICES = {
    "train": "train",
    "translate": "all",
    "backtranslate": "all",
    "importance": "all",
    "preference": "one",
    "probe": "one",
}
PICTURES = {"curve", "preference", "probe", "draw"}  # commands that draw


@dataclass(frozen=True)
class Step:
    """Work that is done once.

    Attributes:
        name: unique in its run, a path below it.
        kind: data, made, training, checkpoint, output, translation, scores, report, drawing.
        commands: words of `tdo` commands, or of scripts (`SCRIPT`), one after the other.
        needs: names of the steps before it.
        leaves: files and folders that are removed before it is done anew with another key.
        files: texts that are written before its commands, by place.
        start: flags of its last command as long as `resumes` is not there.
        resumes: a file from which an interrupted step goes on.
        device: whether it computes, so that the words of a machine stand behind its last command.
        silent: words that change nothing of what it leaves, behind its last command.
        updates: of a training, for the time that it takes.
        place: a folder that steps write to one at a time.
        text: the file that its commands print to (default: its log); it is among what it leaves.
        spared: of what it needs, by name, those without some of which it is done all the same; with
            each the words of its commands that go with it.
        of: what else it depends on.
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
        """Whether it cannot be done without these steps."""
        lost = {need for need in self.needs if need in failed}
        return bool(lost - self.spared.keys()) or bool(self.spared and lost >= self.spared.keys())

    def without(self, failed: Iterable[str]) -> tuple[Command, ...]:
        """Its commands, without the words of these steps."""
        lost = {word for need in failed for word in self.spared.get(need, ()) if word}
        return tuple(
            tuple(word for word in command if word not in lost) for command in self.commands
        )


class Graph:
    """Steps by name, each behind those that it needs."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._steps: dict[str, Step] = {}
        self._keys: dict[str, str] = {}

    def add(self, step: Step) -> str:
        """Take a step in, unless it is there; its name.

        Raises:
            UserError: another one has its name.
        """
        if self._steps.setdefault(step.name, step) != step:
            raise UserError(
                f"`{step.name}` must be made in one way; it is made in two: one of two rows, or of "
                "two files of made, must have another name or place"
            )
        return step.name

    def place(self, *parts: str) -> Path:
        """A place below the run's folder.

        Args:
            parts: of which the last one comes from a file of experiments.

        Raises:
            UserError: it leads out of the folder that the others say, or to hidden files.
        """
        text = parts[-1]
        names = text.split("/")
        if any(name.startswith(".") or not name for name in names) or not on_one_line(text):
            raise UserError(
                f"`{quoted(text)}` must be a place below the run's folder, without names that are "
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
        """A short name of all that a step depends on."""
        if name not in self._keys:
            step = self._steps[name]
            content = {
                "commands": [list(command) for command in (*step.commands, step.start)],
                "files": list(step.files.values()),
                "needs": [self.key(need) for need in step.needs],
            } | ({"of": step.of} if step.of else {})
            text = json.dumps(content, ensure_ascii=False).replace(f"{self.run}/", "RUN/")
            self._keys[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._keys[name]

    def closure(self, names: Iterable[str]) -> list[Step]:
        """These steps and all that they need, in the order in which they were taken in."""
        wanted: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in wanted:
                wanted.add(name)
                waiting += self._steps[name].needs
        return [step for step in self if step.name in wanted]

    def record(self, name: str) -> Record:
        """What a step has left."""
        return Record(self.run / RECORDS / f"{name}.json", self.key(name))

    def drawn(self, table: str) -> Iterator[str]:
        """Names of all steps that were ever begun to draw of a table."""
        records = self.run / RECORDS
        for path in (records / table).rglob("drawing.json"):
            yield path.relative_to(records).with_suffix("").as_posix()

    def foreign(self, step: Step) -> Iterator[Path]:
        """What is where a step's work will be, and was made by no step of any run.

        A training is its own step's; other files are those of the run where one of its steps has
        made the folder.
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
        """What a step says."""
        if self._steps[name].kind == "training":
            return (self.run / name).parent / "train.log"
        return self.run / RECORDS / f"{name}.log"

    def done(self, name: str) -> bool:
        """Whether it is done, with this key."""
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
        """Whether it was begun with this key."""
        return self._content().get("key") == self.key

    def begin(self, leaves: Sequence[Path]) -> None:
        """Take note that it begins; what an older one left goes first, unless it goes on."""
        if self.begun() and not self.done():
            return
        self._write({"key": "", "done": False})
        remove(leaves)
        self._write({"key": self.key, "done": False})

    def forget(self) -> None:
        """Take note that it is to be done again, if it was ever begun."""
        if self.path.exists():
            self._write({"key": "", "done": False})

    def end(self, seconds: float) -> None:
        """Take note that it is done."""
        self._write({"key": self.key, "done": True, "seconds": round(seconds, 1)})

    def _write(self, content: Mapping[str, object]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.path, [json.dumps(content)])


def _holds(path: Path) -> bool:
    """Whether something is there, and no empty folder."""
    return any(path.iterdir()) if path.is_dir() else path.exists()


def remove(paths: Iterable[Path]) -> None:
    """Remove files and folders, those that are there."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def shown(command: Sequence[str]) -> str:
    """A command as a shell reads it."""
    return f"+ {'' if command[0] == SCRIPT else 'tdo '}{shlex.join(command)}"


def cannot_draw() -> str:
    """A package without which nothing is drawn, and that is not installed; empty where all are."""
    return next((name for name in ("matplotlib", "scipy") if find_spec(name) is None), "")


def drawn_here(commands: Iterable[Command]) -> tuple[Command, ...]:
    """The same commands, or where nothing can be drawn for numbers alone."""
    return tuple(
        (*words, "--no-figures") if cannot_draw() and set(words[:2]) & PICTURES else words
        for words in commands
    )


def device_of(commands: Iterable[Sequence[str]]) -> str:
    """What commands ask of a machine (`DEVICES`); nothing where none computes."""
    words = (word for command in commands for word in command[:2])
    return next((DEVICES[word] for word in words if word in DEVICES), "")
