"""`runs.json`: each run of a training, that is its start and every resumption."""

from __future__ import annotations

import json
import math
import os
import platform
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json, typed

FILE = "runs.json"
RUNNING, FINISHED, INTERRUPTED, FAILED = "running", "finished", "interrupted", "failed"
LOST = "lost"  # there is no word of its end, so it was killed, or its machine went down
# groups of fairseq's settings that no training reads
_UNUSED = ("common_eval", "generation", "eval_lm", "interactive", "scoring", "bmuf")


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        started: time, as ISO 8601 has it; empty where only a checkpoint is known.
        command: the command line.
        options: fairseq's, as they were used: of the first run all of them, of a later one those
            that differ from the run before, None standing for an option that is gone. A run that
            ended before its first update has none.
        versions: by package, Python and CUDA among them.
        commit: of this package's checkout, `+` behind it where files differed; None without git.
        machine: host, process, processor, cores, GPUs, number of workers.
        data: by folder, its digest; see `data_identity`.
        state: one of the constants above.
        ended: time in the same form; empty while it runs.
        reason: why it was interrupted or failed.
        updates: reached at its end.
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
        """Whether its process is there; None where another machine would know."""
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
        """Its state, also where the run could not note its end."""
        return LOST if self.state == RUNNING and self.alive() is False else self.state

    def outcome(self) -> str:
        """Its state and the reason, such as `interrupted by a signal`, in words."""
        state = self.state_now()
        if state == LOST:
            return "lost (killed, or its machine went down)"
        return f"{state}{':' * (state == FAILED)} {self.reason}".strip()


def read_runs(folder: Path) -> list[Run]:
    """The runs of a folder, in order; none of a folder without the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not what `write_runs` writes.
    """
    path = folder / FILE
    if not path.exists():
        return []
    runs: tuple[Run, ...] = typed(read_json(path), tuple[Run, ...], FILE)
    return list(runs)


def write_runs(folder: Path, runs: Sequence[Run]) -> None:
    """Write them to a file that appears only complete."""
    text = json.dumps([asdict(run) for run in runs], indent=1, ensure_ascii=False)
    write_text(folder / FILE, [text])


def with_new_run(runs: Sequence[Run], run: Run) -> list[Run]:
    """The runs and a further one.

    A run that is still noted as running is lost: a folder has one training at a time.
    """
    before = [replace(each, state=LOST) if each.state == RUNNING else each for each in runs]
    return [*before, run]


def with_options(runs: Sequence[Run], options: Mapping[str, Any]) -> list[Run]:
    """The runs, of which the last one gets those options that differ from the runs before."""
    *before, run = runs
    return [*before, replace(run, options=differing(options_of(before), options))]


def options_of(runs: Sequence[Run]) -> dict[str, Any]:
    """All options as the last of these runs used them."""
    options: dict[str, Any] = {}
    for run in runs:
        options.update(run.options)
    return {name: value for name, value in options.items() if value is not None}


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `now` that have another value than before, and None for what is gone."""
    names = sorted({*before, *now})
    return {name: now.get(name) for name in names if now.get(name) != before.get(name)}


def effective_options(settings: Mapping[Any, Any]) -> dict[str, Any]:
    """fairseq's settings as plain values by option, sorted.

    Args:
        settings: groups of options, each a dict or, of models and tasks that are declared the old
            way, a namespace with the whole command line. What is in a group counts, as fairseq's
            trainer reads it there.
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
    """A value that JSON has, equal to what is read back."""
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
    return str(value)  # of an enumeration of fairseq's, its value
