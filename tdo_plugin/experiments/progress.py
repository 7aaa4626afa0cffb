"""Progress of steps, and estimates of the remaining time."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tdo_plugin.experiments.steps import Graph, Step
from tdo_plugin.runtime.durations import duration
from tdo_plugin.runtime.log_ends import log_end

LOGGED = re.compile(r"train_inner.*?\bloss\W+([\d.]+).*?\bnum_updates\W+(\d+)")
STOCK = re.compile(r"^\+ (?:fairseq-train|torchrun) .*$", re.MULTILINE)


@dataclass
class Pace:
    """Updates of one training since it was first observed."""

    update: int
    since: float
    seconds: float | None = None  # per update

    def at(self, update: int) -> None:
        """Record the number of updates at the current time."""
        now = time.monotonic()
        if update > self.update:
            self.seconds = (now - self.since) / (update - self.update)


@dataclass
class Progress:
    """Progress of a run's steps."""

    graph: Graph
    paces: dict[str, Pace] = field(default_factory=dict)

    def line(self, running: Sequence[Step], waiting: Sequence[Step], slots: int) -> str:
        """The running steps, their progress, and the estimated remaining time."""
        lines = [f"{step.name}: {self._of(step)}" for step in running]
        left = self._left(running, waiting, slots)
        return " | ".join(lines) + (f" ({left} to go in total)" if left else "")

    def _of(self, step: Step) -> str:
        if not self.graph.log(step.name).exists():
            return "in the queue"
        if step.kind != "training":
            return "running"
        logged = LOGGED.findall(log_end(self.graph.log(step.name)))
        if not logged:
            return "starting"
        loss, update = logged[-1]
        pace = self.paces.setdefault(step.name, Pace(int(update), time.monotonic()))
        pace.at(int(update))
        most = f" of {step.updates}" if step.updates else ""
        left = ""
        if step.updates and pace.seconds:
            left = f", {duration(pace.seconds * (step.updates - int(update)))} to go"
        return f"update {update}{most}, loss {loss}{left}"

    def _left(self, running: Sequence[Step], waiting: Sequence[Step], slots: int) -> str:
        """The remaining time of all training runs, from the mean pace of the observed ones."""
        paces = [pace.seconds for pace in self.paces.values() if pace.seconds]
        trainings = [step for step in (*running, *waiting) if step.kind == "training"]
        if not paces or not waiting or not all(step.updates for step in trainings):
            return ""
        done = sum(self._update(step) for step in running if step.kind == "training")
        updates = sum(step.updates for step in trainings) - done
        return f"about {duration(sum(paces) / len(paces) * updates / max(1, slots))}"

    def _update(self, step: Step) -> int:
        logged = LOGGED.findall(log_end(self.graph.log(step.name)))
        return int(logged[-1][1]) if logged else 0
