"""The progress of a run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TextIO

from tdo_compat.errors import bounded
from tdo_plugin.evaluation.decoding.decoding_jobs import AnyJob
from tdo_plugin.evaluation.decoding.pool import Event

EVERY = 20.0  # seconds without a line, unless on a terminal


class ProgressDisplay:
    """Jobs done, sentences per second, time left.

    Args:
        jobs: all jobs of the run.
        stream: the output stream; None is standard error.
        unit: what counted jobs are called.
    """

    def __init__(
        self, jobs: Sequence[AnyJob], stream: TextIO | None = None, unit: str = "directions"
    ) -> None:
        self.unit = unit
        self.units = sum(job.counts for job in jobs)
        self.sentences = sum(job.sentences for job in jobs)
        self.stream = stream = stream or sys.stderr
        self.done = self.seen = 0
        self._of_job: dict[AnyJob, int] = {}
        self.start = self.said = time.monotonic()
        self.bar = None
        if stream.isatty():
            from tqdm import tqdm

            self.bar = tqdm(
                total=self.sentences, unit=" sentences", file=stream, dynamic_ncols=True
            )
            self._label()

    def show(self, event: Event) -> None:
        """Record an event and update the display."""
        if event.kind == "ready" and not self.seen:
            self.start = time.monotonic()  # exclude the time to load the model
        if event.kind == "sentences":
            self._count(event.job, event.sentences)
            if self.bar is None and time.monotonic() - self.said > EVERY:
                self._say(self._state())
        if event.kind not in ("done", "failed"):
            return
        self._count(event.job, event.job.sentences - self._of_job.get(event.job, 0))
        self.done += event.job.counts
        if event.kind == "failed":
            self._say(f"{event.job.name}: error: {event.text}")
        if self.bar is not None:
            self._label()
        elif event.kind == "done":
            self._say(f"{event.job.name}: {event.job.sentences} sentences; {self._state()}")

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self.bar is not None:
            self.bar.close()

    def _count(self, job: AnyJob, sentences: int) -> None:
        self.seen += sentences
        self._of_job[job] = self._of_job.get(job, 0) + sentences
        if self.bar is not None:
            self.bar.update(sentences)

    def _say(self, line: str) -> None:
        self.said = time.monotonic()
        if self.bar is not None:
            self.bar.write(bounded(line), file=self.stream)
        else:
            print(bounded(line), file=self.stream, flush=True)

    def _label(self) -> None:
        assert self.bar is not None
        self.bar.set_description(f"{self.done} of {self.units} {self.unit}")

    def _state(self) -> str:
        rate = self.seen / max(time.monotonic() - self.start, 1e-9)
        left = max(self.sentences - self.seen, 0) / max(rate, 1e-9)
        return (
            f"{self.done} of {self.units} {self.unit}, {self.seen:,} of {self.sentences:,} "
            f"sentences, {rate:.1f} sentences/s, "
            f"{timedelta(seconds=round(left))} left"
        )
