"""In which order directions are dealt out, so that no worker waits long for another's last one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.decoding_jobs import AnyJob


class Waiting:
    """Jobs that nobody has begun, the longest first.

    How long one takes depends on its sentences and on the language that it puts out: a model may
    repeat itself to the limit in one language and stop in time in another. So each target language
    comes up once, and from then on its seconds a sentence are known.
    """

    def __init__(self, jobs: Iterable[AnyJob]) -> None:
        self._jobs = list(jobs)
        self._sentences: defaultdict[str, int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def first(self) -> AnyJob:
        """The longest."""
        return max(self._jobs, key=self._expected)

    def begun(self, job: AnyJob) -> None:
        """A job does not wait any more; until it is done, other languages come first."""
        self._jobs.remove(job)
        self._sentences[job.target] += 0

    def took(self, job: AnyJob, seconds: float) -> None:
        """A job is done."""
        self._sentences[job.target] += job.sentences
        self._seconds[job.target] += seconds

    def _expected(self, job: AnyJob) -> tuple[float, int]:
        """Seconds, endless where nothing is known; then sentences."""
        target = job.target
        if target not in self._sentences:
            return math.inf, job.sentences
        done = sum(self._sentences.values())
        mean = sum(self._seconds.values()) / done if done else 0.0
        sentences = self._sentences[target]
        pace = self._seconds[target] / sentences if sentences else mean
        return pace * job.sentences, job.sentences
