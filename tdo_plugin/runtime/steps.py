"""Steps of a long preparation, with records, so that a killed run can continue.

    ROOT/work/steps/NAME.json   {"digest": ..., "files": {"path below ROOT": bytes}, "facts": {...}}

A record is written last. It is valid if its digest is that of everything the step depends on, and
the step's files exist with their recorded sizes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from tdo_compat.errors import named_when_full
from tdo_plugin.runtime.files import write_text
from tdo_plugin.runtime.jobs import Job, run_jobs
from tdo_plugin.typed import read_json, typed

Facts = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One piece of work.

    Attributes:
        name: of the record.
        depends: everything that the files depend on, as JSON.
        make: writes files to the folder it is called with, at their paths relative to the root,
            and returns facts for the record.
    """

    name: str
    depends: Mapping[str, Any]
    make: Callable[[Path], Facts]

    def digest(self) -> str:
        """A digest of everything that the step depends on."""
        text = json.dumps(self.depends, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Record:
    """The record of a step: digest of its dependencies, sizes of its files, and facts."""

    digest: str
    files: dict[str, int]
    facts: Facts


def read_record(path: Path) -> Record | None:
    """A step's record; None if it is missing or incomplete."""
    try:
        record: Record = typed(read_json(path), Record, "it")
        return record
    except (OSError, ValueError):
        return None


def described(value: object) -> str:
    """Like `repr`, but omits fields of dataclasses with their defaults or with `compare=False`.

    So neither a new field nor another wording of prose invalidates earlier records.
    """
    if is_dataclass(value) and not isinstance(value, type):
        values = ((field, getattr(value, field.name)) for field in fields(value))
        parts = [
            f"{field.name}={described(v)}"
            for field, v in values
            if field.compare and v != field.default
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, Mapping):
        return f"map({', '.join(f'{described(k)}: {described(v)}' for k, v in value.items())})"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(described, value))})"
    return repr(value)


class Steps:
    """The steps of a folder; a context manager, since it creates a scratch folder.

    Files appear in the folder only when their step has written all of them.
    """

    def __init__(self, root: Path, workers: int, records: str = "steps") -> None:
        """Steps that write below `root`.

        Args:
            root: the folder.
            workers: processes at a time.
            records: name of the records' folder in `root`/work.
        """
        self.root, self.workers = root, workers
        self._records = root / "work" / records
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Steps:
        self._records.mkdir(parents=True, exist_ok=True)
        prefix = f"{self._records.name}-scratch-"
        for left in self._records.parent.glob(f"{prefix}*"):  # from a killed run
            shutil.rmtree(left, ignore_errors=True)
        self._scratch = tempfile.TemporaryDirectory(prefix=prefix, dir=self._records.parent)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._scratch
        self._scratch.cleanup()

    def forget(self, *names: str) -> None:
        """Remove all records except the named ones; files stay."""
        for path in self._records.glob("*.json"):
            if path.stem not in names:
                path.unlink()

    def files(self) -> set[str]:
        """All files in the records, as paths relative to the root."""
        records = filter(None, map(read_record, self._records.glob("*.json")))
        return {name for record in records for name in record.files}

    def facts(self, step: Step) -> Facts | None:
        """The facts in a step's record; None if the step must be run."""
        record = read_record(self._path(step))
        if record is None or record.digest != step.digest():
            return None
        for name, size in record.files.items():
            path = self.root / name
            if not path.is_file() or path.stat().st_size != size:
                return None
        return record.facts

    def run(
        self,
        steps: Iterable[Step],
        begun: Callable[[Step], object] = lambda step: None,
        ended: Callable[[Step], object] = lambda step: None,
    ) -> dict[str, Facts]:
        """Run the steps that are not done yet, each in a process of its own; see `run_jobs`.

        Args:
            steps: independent of each other.
            begun: called with each step that is run, at its start.
            ended: called with the step when its record is written.

        Returns:
            The facts of every step by its name.
        """
        facts: dict[str, Facts] = {}

        def jobs() -> Iterator[tuple[Step, Job]]:
            for step in steps:
                recorded = self.facts(step)
                if recorded is not None:
                    facts[step.name] = recorded
                    continue
                begun(step)
                folder = self._folder(step)
                folder.mkdir()
                yield step, partial(self._make, step, folder)

        with closing(run_jobs(jobs(), self.workers)) as results:
            for step, step_facts in results:
                facts[step.name] = step_facts
                self._finish(step, step_facts)
                ended(step)
        return facts

    def _make(self, step: Step, folder: Path) -> Facts:
        """In a process of its own; an error for a full disk names the step if no file."""
        with named_when_full(self.root / step.name):
            return step.make(folder)

    def _finish(self, step: Step, facts: Facts) -> None:
        folder = self._folder(step)
        # an earlier record must not be valid for a mixture of old and new files
        self._path(step).unlink(missing_ok=True)
        files = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = path.relative_to(folder)
                files[name.as_posix()] = path.stat().st_size
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, self.root / name)
        shutil.rmtree(folder)
        record = {"digest": step.digest(), "files": files, "facts": facts}
        write_text(self._path(step), [json.dumps(record, indent=1, ensure_ascii=False)])

    def _path(self, step: Step) -> Path:
        return self._records / f"{step.name}.json"

    def _folder(self, step: Step) -> Path:
        assert self._scratch
        return Path(self._scratch.name) / step.name
