"""The order in which jobs are assigned, so that no worker waits long for the last job."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.decoding_jobs import AnyJob


class Waiting:
    """Jobs that have not been started, longest first.

    The time of a job depends on its number of sentences and its target language: a model may repeat
    itself up to the length limit in one language and stop early in another. So a job of each target
    language is started first, after which its seconds per sentence are known.
    """

    def __init__(self, jobs: Iterable[AnyJob]) -> None:
        self._jobs = list(jobs)
        self._sentences: defaultdict[str, int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def first(self) -> AnyJob:
        """The job with the longest expected time."""
        return max(self._jobs, key=self._expected)

    def begun(self, job: AnyJob) -> None:
        """Mark a job as started; until it is done, other languages have priority."""
        self._jobs.remove(job)
        self._sentences[job.target] += 0

    def took(self, job: AnyJob, seconds: float) -> None:
        """Record the time of a finished job."""
        self._sentences[job.target] += job.sentences
        self._seconds[job.target] += seconds

    def _expected(self, job: AnyJob) -> tuple[float, int]:
        """Expected seconds, infinite for an unknown language, then number of sentences."""
        target = job.target
        if target not in self._sentences:
            return math.inf, job.sentences
        done = sum(self._sentences.values())
        mean = sum(self._seconds.values()) / done if done else 0.0
        sentences = self._sentences[target]
        pace = self._seconds[target] / sentences if sentences else mean
        return pace * job.sentences, job.sentences
