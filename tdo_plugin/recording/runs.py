"""`runs.json`: the runs of a training, one for the start and one for each resumption."""

from __future__ import annotations

import json
import math
import os
import platform
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json, typed

FILE = "runs.json"
RUNNING, FINISHED, INTERRUPTED, FAILED = "running", "finished", "interrupted", "failed"
LOST = "lost"  # no end was recorded: the process was killed or the machine went down
# groups of fairseq's settings that training does not use
_UNUSED = ("common_eval", "generation", "eval_lm", "interactive", "scoring", "bmuf")


@dataclass(frozen=True)
class Run:
    """One run of a training.

    Attributes:
        started: start time in ISO 8601; empty if only a checkpoint is known.
        command: the command line.
        options: fairseq's effective options: all options for the first run; for a later run those
            that differ from the run before, with None for a removed option. Empty for a run that
            ended before its first update.
        versions: versions by package, including Python and CUDA.
        commit: commit of this package's clone, with `+` if files were modified; None without git.
        machine: host, process id, processor, cores, GPUs, number of workers.
        data: digest of each data folder; see `data_identity`.
        state: one of the constants above.
        ended: end time in ISO 8601; empty during the run.
        reason: why the run was interrupted or failed.
        updates: number of updates at the end of the run.
    """

    started: str
    command: str
    options: dict[str, Any]
    versions: dict[str, str]
    commit: str | None
    machine: dict[str, Any]
    data: dict[str, Any]
    state: str = RUNNING
    ended: str = ""
    reason: str = ""
    updates: int = 0

    def alive(self) -> bool | None:
        """Whether the run's process still exists; None if it ran on another machine."""
        if self.machine.get("host") != platform.node():
            return None
        try:
            os.kill(int(self.machine["process"]), 0)
        except PermissionError:
            return True
        except (OSError, KeyError, ValueError):
            return False
        return True

    def state_now(self) -> str:
        """Return the state; `LOST` if the process is gone without a recorded end."""
        return LOST if self.state == RUNNING and self.alive() is False else self.state

    def seconds(self) -> float | None:
        """Return how long the run took, until now if it is running; None if no end is known."""
        now = datetime.now().astimezone().isoformat()
        ended = now if self.state_now() == RUNNING else self.ended
        if not self.started or not ended:
            return None
        began, end = (datetime.fromisoformat(time) for time in (self.started, ended))
        return (end - began).total_seconds()

    def outcome(self) -> str:
        """Return state and reason as text, such as `interrupted by a signal`."""
        state = self.state_now()
        if state == LOST:
            return "lost (killed, or its machine went down)"
        return f"{state}{':' * (state == FAILED)} {self.reason}".strip()


def read_runs(folder: Path) -> list[Run]:
    """Read the runs of a folder, in order; [] if the folder has no such file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file was not written by `write_runs`.
    """
    path = folder / FILE
    if not path.exists():
        return []
    runs: tuple[Run, ...] = typed(read_json(path), tuple[Run, ...], FILE)
    return list(runs)


def write_runs(folder: Path, runs: Sequence[Run]) -> None:
    """Write the runs to `runs.json` atomically."""
    text = json.dumps([asdict(run) for run in runs], indent=1, ensure_ascii=False)
    write_text(folder / FILE, [text])


def with_new_run(runs: Sequence[Run], run: Run) -> list[Run]:
    """Return the runs with a new run appended.

    An earlier run still recorded as running becomes lost: a folder has one training at a time.
    """
    before = [replace(each, state=LOST) if each.state == RUNNING else each for each in runs]
    return [*before, run]


def with_options(runs: Sequence[Run], options: Mapping[str, Any]) -> list[Run]:
    """Return the runs, with the options that changed stored in the last run."""
    *before, run = runs
    return [*before, replace(run, options=differing(options_of(before), options))]


def options_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return all options that the last of these runs used."""
    options: dict[str, Any] = {}
    for run in runs:
        options.update(run.options)
    return {name: value for name, value in options.items() if value is not None}


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options whose values changed, with None for removed options."""
    names = sorted({*before, *now})
    return {name: now.get(name) for name in names if now.get(name) != before.get(name)}


def effective_options(settings: Mapping[Any, Any]) -> dict[str, Any]:
    """Return fairseq's settings as JSON values by option, sorted.

    Args:
        settings: groups of options. Each group is a dict, or, for models and tasks with the legacy
            interface, a namespace with the whole command line. Values in a group's dict take
            precedence, because fairseq's trainer reads them there.
    """
    options: dict[str, Any] = {}
    for group in settings.values():
        if isinstance(group, Namespace):
            options.update(vars(group))
    for name, group in settings.items():
        if isinstance(group, Mapping) and name not in _UNUSED:
            if group.get("_name"):
                options.setdefault(name, group["_name"])
            options.update(group)
    return {
        str(name): _plain(value)
        for name, value in sorted(options.items())
        if name != "_name" and value is not None
    }


def _plain(value: Any) -> Any:
    """Convert a value so that it equals itself after being written to and read from JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if (
        value is None
        or isinstance(value, bool | int)
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return value
    return str(value)  # the value of a fairseq enumeration
