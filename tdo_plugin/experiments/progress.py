"""Progress of steps, and the estimated remaining time of the training runs."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tdo_plugin.experiments.steps import Graph, Step
from tdo_plugin.runtime.durations import duration
from tdo_plugin.runtime.log_ends import log_end

LOGGED = re.compile(
    r"train_inner.*?\bloss\W+([\d.]+).*?\bnum_updates\W+(\d+)(?:.*?\bwall\W+(\d+))?"
)
DECODED = re.compile(r"\d+ of \d+ directions, [\d,]+ of [\d,]+ sentences")
STOCK = re.compile(r"^\+ (?:fairseq-train|torchrun) .*$", re.MULTILINE)


@dataclass(frozen=True)
class Logged:
    """The last update that a training has logged, and when it was first seen here."""

    update: int
    loss: str
    seconds: float  # of the training so far, with its start and validations
    seen: float

    def left(self, updates: int) -> float:
        """The seconds that are left of a training, which fall between two lines of its log."""
        rest = self.seconds / max(1, self.update) * (updates - self.update)
        return max(0.0, rest - (time.monotonic() - self.seen))


@dataclass
class Progress:
    """Progress of a run's steps."""

    graph: Graph
    logged: dict[str, Logged] = field(default_factory=dict)

    def line(self, running: Sequence[Step], waiting: Sequence[Step], slots: int) -> str:
        """The running steps, their progress, and the time until all training runs are done."""
        lines = [f"{step.name}: {self._of(step)}" for step in running]
        left = self._left(running, waiting, slots)
        return " | ".join(lines) + (f"; training: {duration(left)} to go" if left else "")

    def _of(self, step: Step) -> str:
        log = self.graph.log(step.name)
        if not log.exists():
            return "in the queue"
        if step.kind == "training":
            logged = self._read(step)
            most = f" of {step.updates}" if step.updates else ""
            return f"update {logged.update}{most}, loss {logged.loss}" if logged else "starting"
        decoded = DECODED.findall(log_end(log))
        return decoded[-1] if decoded else "running"

    def _read(self, step: Step) -> Logged | None:
        found = LOGGED.findall(log_end(self.graph.log(step.name)))
        if not found:
            return None
        loss, update, wall = found[-1]
        earlier = self.logged.get(step.name)
        if earlier is None or earlier.update != int(update):
            now = time.monotonic()
            self.logged[step.name] = Logged(int(update), loss, float(wall or 0), now)
        return self.logged[step.name]

    def _left(self, running: Sequence[Step], waiting: Sequence[Step], slots: int) -> float:
        """The remaining seconds of all training runs; 0 before the first has logged an update."""
        trainings = [step for step in (*running, *waiting) if step.kind == "training"]
        known = {
            step.name: self.logged[step.name] for step in trainings if step.name in self.logged
        }
        paces = [last.seconds / max(1, last.update) for last in known.values()]
        if not any(paces) or not all(step.updates for step in trainings):
            return 0.0
        pace = sum(paces) / len(paces)  # of those that have logged nothing
        lefts = [
            known[step.name].left(step.updates) if step.name in known else pace * step.updates
            for step in trainings
        ]
        return max(*lefts, sum(lefts) / max(1, slots), 0.0)
