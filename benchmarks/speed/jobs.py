"""The work of one system in a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speed.batches import Batch, target_tokens
from speed.plan import Setting


@dataclass(frozen=True)
class Job:
    """The input of a system's process.

    Attributes:
        kind: `training`, `decoding` or `memory`.
        directions: directions of the data.
        precision: `fp32`, `fp16` or `bf16`.
        extra: further options of fairseq-train.
        repeats: batches per run.
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

    def batches_of(self, number: int) -> list[int]:
        """The batches of the `number`-th run, equal for all systems."""
        first = number * self.repeats
        return [index % len(self.batches) for index in range(first, first + self.repeats)]

    def work(self, number: int) -> int:
        """The target tokens of a training run, or the sentences of a decoding run."""
        size = len if self.kind == "decoding" else target_tokens
        return sum(size(self.batches[index]) for index in self.batches_of(number))
