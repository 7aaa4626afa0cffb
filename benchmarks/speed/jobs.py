"""What one system has to do in a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speed.batches import Batch, target_tokens
from speed.plan import Setting


@dataclass(frozen=True)
class Job:
    """All that a system's process needs to know.

    Attributes:
        kind: `training`, `decoding` or `memory`.
        directions: of the data.
        precision: `fp32`, `fp16` or `bf16`.
        extra: further options of fairseq-train.
        repeats: batches of a run.
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
        """Which batches the `number`-th run has; those of all systems have the same."""
        first = number * self.repeats
        return [index % len(self.batches) for index in range(first, first + self.repeats)]

    def work(self, number: int) -> int:
        """Target tokens of a run in training, sentences in decoding."""
        size = len if self.kind == "decoding" else target_tokens
        return sum(size(self.batches[index]) for index in self.batches_of(number))
