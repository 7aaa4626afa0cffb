"""What a worker does for one direction, and the order in which directions are dealt out."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.segmentation import write_text
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import Texts, data_side, read_summary, write_direction

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Hypothesis, Translator


@dataclass(frozen=True)
class Job:
    """One direction for one worker.

    Attributes:
        direction: whose files the job writes, such as `de-fr`.
        sentences: of its test set.
        pivot: the language between source and target; None translates straight.
        first_step: where the translations into the pivot are.
        into_pivot: whether the job makes that file instead of the direction's.
        perplexity: whether to measure the validation set's perplexity too.
    """

    direction: str
    sentences: int
    pivot: str | None = None
    first_step: Path | None = None
    into_pivot: bool = False
    perplexity: bool = False

    @property
    def name(self) -> str:
        """What progress calls it."""
        if self.into_pivot:
            return f"{self.direction.split('-')[0]}-{self.pivot} (first step of a pivot)"
        return self.direction

    def is_whole(self, out: Path) -> bool:
        """Whether its files are there already."""
        if self.into_pivot:
            return self.first_step is not None and self.first_step.is_file()
        return read_summary(out, self.direction) is not None


def plan(
    data: DataFolder,
    out: Path,
    directions: Sequence[str],
    pivot: str | None = None,
    perplexity: bool = False,
) -> list[list[Job]]:
    """Jobs in stages: those of a stage do not wait for each other, those of the next do.

    A direction from or into the pivot is translated straight. A source text that several
    directions share goes into the pivot once.
    """
    first: dict[Path, Job] = {}
    last = []
    for direction in directions:
        source, target = direction.split("-")
        lines = data_side(data, direction, source)
        if pivot is None or pivot in (source, target):
            last.append(Job(direction, len(lines), perplexity=perplexity))
            continue
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
        place = out / "pivot" / f"{source}-{pivot}.{digest}.hyp"
        first.setdefault(place, Job(direction, len(lines), pivot, place, into_pivot=True))
        last.append(Job(direction, len(lines), pivot, place, perplexity=perplexity))
    last.sort(key=lambda job: -job.sentences)  # the longest first, so that no worker waits for it
    return [stage for stage in (list(first.values()), last) if stage]


def perform(
    job: Job, translator: Translator, data: DataFolder, out: Path, progress: Callable[[int], None]
) -> None:
    """Translate and write.

    Raises:
        UserError: the direction cannot be translated.
    """
    start = time.monotonic()
    source, target = job.direction.split("-")
    sources = data_side(data, job.direction, source)
    if job.into_pivot:
        assert job.first_step is not None
        found = translator.translate_lines(f"{source}-{job.pivot}", sources, progress)
        job.first_step.parent.mkdir(exist_ok=True)
        write_text(job.first_step, (one.text for one in found))
        return
    references = data_side(data, job.direction, target)
    between: list[str] | None = None
    if job.first_step is None:
        found = translator.translate_test(job.direction, progress)
    else:
        if not job.first_step.is_file():
            raise UserError(f"`--pivot` must be reached first; the step into {job.pivot} failed")
        between = list(read_lines(job.first_step))
        found = translator.translate_lines(f"{job.pivot}-{target}", between, progress)
    texts = Texts(job.direction, sources, tuple(one.text for one in found), references)
    summary = {
        "direction": job.direction,
        "sentences": len(found),
        "seconds": round(time.monotonic() - start, 1),
        "pivot": job.pivot if between is not None else None,
        "perplexity": translator.perplexity(job.direction) if job.perplexity else None,
    }
    write_direction(out, texts, _records(texts, found, between), summary)


def _records(
    texts: Texts, found: Sequence[Hypothesis], between: Sequence[str] | None
) -> list[dict[str, object]]:
    """One record a sentence, for the JSON lines file; scores are log2, as fairseq prints them."""
    assert texts.sources is not None
    rows = zip(texts.sources, found, texts.references, strict=True)
    return [
        {
            "id": number,
            "source": source,
            "hypothesis": one.text,
            "reference": reference,
            "score": round(one.score, 6),
            "pieces": one.pieces,
            **({"pivot": between[number]} if between is not None else {}),
        }
        for number, (source, one, reference) in enumerate(rows)
    ]
