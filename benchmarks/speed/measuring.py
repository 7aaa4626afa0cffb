"""Interleaved comparisons of systems on the same batches, each in a separate process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from speed.batches import Batch, by_sentences, by_tokens, pool
from speed.jobs import Job
from speed.plan import BASELINES, BYTES, DECODES, Comparison
from speed.roofline import Part
from speed.text import Text
from speed.whole_training import peak_memory
from speed.worker_pool import WorkerPool

REPEATS = {"cpu": 1, "cuda": 20}  # batches per run
FIRST = 2  # sentences of the update that creates the optimiser's state, before measuring memory


@dataclass(frozen=True)
class Measurement:
    """The result of a comparison.

    Attributes:
        costs: costs of each round by system: seconds per target token or sentence, or bytes.
    """

    comparison: Comparison
    costs: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Arena:
    """The common input of all comparisons.

    Attributes:
        text: returns the text of a comparison.
        extra: options of fairseq-train for our system, whose weights CTranslate2 gets.
        say: called with progress lines.
        cpu_time: count CPU time instead of elapsed time.
    """

    team: WorkerPool
    device: str
    precision: str
    text: Callable[[Comparison], Text]
    extra: Sequence[str]
    say: Callable[[str], None]
    cpu_time: bool = False

    def measure(self, comparison: Comparison, rounds: int) -> Measurement:
        """Run a comparison; bytes, which do not vary, are measured once.

        Raises:
            UserError: the text is too short, an option is rejected, or memory is insufficient.
        """
        costs = (
            self._weigh(comparison) if comparison.kind in BYTES else self._time(comparison, rounds)
        )
        return Measurement(comparison, costs)

    def roofline(self, comparison: Comparison) -> list[Part]:
        """Where an update of each system spends its time.

        Raises:
            UserError: as in `measure`.
        """
        every: list[Part] = []
        for system, job in self._jobs(comparison, self.batches(comparison), 1).items():
            self.team.member(system).ask("roofline", job)
            every += self.team.member(system).answer()
        peak = max(part.peak for part in every)
        return [replace(part, peak=peak) for part in every]

    def batches(self, comparison: Comparison) -> tuple[Batch, ...]:
        """The batches for all systems.

        Raises:
            UserError: the text is too short.
        """
        text, setting = self.text(comparison), comparison.setting
        if comparison.kind in DECODES:
            return by_sentences(text, setting.sentence_length, setting.sentences)
        return by_tokens(text, setting.sentence_length, setting.batch_tokens)

    def _time(self, comparison: Comparison, rounds: int) -> dict[str, list[float]]:
        """Interleaved rounds of all systems, after a warm-up round."""
        jobs = self._jobs(comparison, self.batches(comparison), REPEATS[self.device])
        processes = {system: self.team.member(system) for system in jobs}
        for system, process in processes.items():
            process.ask("prepare", jobs[system])
        for process in processes.values():
            process.answer()
        costs: dict[str, list[float]] = {system: [] for system in jobs}
        for number in range(rounds + 1):
            spent = {}
            for system, process in processes.items():
                process.ask("run", number)
                spent[system] = process.answer()
                if number:
                    costs[system].append(spent[system] / jobs[system].work(number))
            turn = f"round {number} of {rounds}" if number else "warm-up"
            self._tell(f"{comparison.title}, {turn}", spent, "s")
        return costs

    def _weigh(self, comparison: Comparison) -> dict[str, list[float]]:
        """Memory or model size of each system, measured one after another."""
        weigh = self._whole if comparison.kind == "tree memory" else self._alone
        sizes = weigh(comparison)
        self._tell(
            comparison.title, {system: size / 2**30 for system, size in sizes.items()}, "GiB"
        )
        return {system: [size] for system, size in sizes.items()}

    def _alone(self, comparison: Comparison) -> Mapping[str, float]:
        """Of a model alone."""
        batch = self.batches(comparison)[0]
        process = self.team.scales()
        sizes = {}
        for system, job in self._jobs(comparison, (batch[:FIRST], batch), 1).items():
            process.ask("model_size" if comparison.kind == "model size" else "peak_memory", job)
            sizes[system] = process.answer()
        return sizes

    def _whole(self, comparison: Comparison) -> Mapping[str, float]:
        """Of a training with all its processes."""
        setting = comparison.setting
        sentences = pool(self.text(comparison), setting.sentence_length, setting.batch_tokens)
        self.team.end()  # a page of a library counts in part for each process that has it
        return peak_memory(self._jobs(comparison, (sentences,), 1))

    def _jobs(
        self, comparison: Comparison, batches: tuple[Batch, ...], repeats: int
    ) -> dict[str, Job]:
        return {
            system: Job(
                kind=comparison.kind,
                system=system,
                setting=comparison.setting,
                directions=self.text(comparison).directions,
                batches=batches,
                repeats=repeats,
                device=self.device,
                precision=self.precision,
                cpu_time=self.cpu_time,
                extra=() if system in BASELINES else tuple(self.extra),
            )
            for system in comparison.systems
        }

    def _tell(self, what: str, figures: Mapping[str, float], unit: str) -> None:
        parts = (f"{system} {figure:.2f} {unit}" for system, figure in figures.items())
        self.say(f"{what}: {', '.join(parts)}")
