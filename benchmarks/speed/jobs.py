"""The work of one system in a comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from speed.batches import Batch, target_tokens
from speed.plan import DECODES, Setting


@dataclass(frozen=True)
class Job:
    """The input of a system's process.

    Attributes:
        kind: as of a comparison.
        directions: directions of the data.
        precision: `fp32`, `fp16` or `bf16`.
        extra: further options of fairseq-train.
        repeats: batches per run.
        cpu_time: count the CPU time of all threads instead of elapsed time.
    """

    kind: str
    system: str
    setting: Setting
    directions: tuple[tuple[str, str], ...]
    batches: tuple[Batch, ...]
    device: str
    precision: str
    extra: Sequence[str] = ()
    repeats: int = 1
    cpu_time: bool = False

    def batches_of(self, number: int) -> list[int]:
        """The batches of the `number`-th run, equal for all systems."""
        first = number * self.repeats
        return [index % len(self.batches) for index in range(first, first + self.repeats)]

    def timed(
        self, number: int, step: Callable[[int], object], wait: Callable[[], None] = lambda: None
    ) -> float:
        """The seconds in which `step` processes the batches of the `number`-th run.

        `wait` returns when the device has finished all work.
        """
        now = time.process_time if self.cpu_time else time.perf_counter
        wait()
        begin = now()
        for index in self.batches_of(number):
            step(index)
        wait()
        return now() - begin

    def work(self, number: int) -> int:
        """The target tokens of a training run, or the sentences of a decoding run."""
        size = len if self.kind in DECODES else target_tokens
        return sum(size(self.batches[index]) for index in self.batches_of(number))
