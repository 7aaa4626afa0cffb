"""Decoding jobs of workers, one per direction, and their plan."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.data.textfolder import count_lines, read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import (
    Hypothesis,
    Texts,
    check_counts,
    data_side,
    is_whole,
    languages_of,
    read_summary,
    write_direction,
    write_summary,
)
from tdo_plugin.metrics.textform import read_text_form
from tdo_plugin.runtime.files import sha256, write_text

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translators import Translators


class AnyJob(Protocol):
    """A unit of work for one worker; hashable.

    Attributes:
        sentences: number of sentences.
        name: name in the progress display.
        target: language of the output.
        counts: whether the progress display counts the job.
    """

    @property
    def sentences(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def counts(self) -> bool: ...

    def is_whole(self, out: Path) -> bool:
        """Whether all output exists."""
        ...

    def perform(
        self, loaded: Any, data: DataFolder, out: Path, progress: Callable[[int], None]
    ) -> None:
        """Do the job with what the worker has loaded; raises UserError on failure."""
        ...


@dataclass(frozen=True)
class Job:
    """One direction for one worker.

    Attributes:
        direction: the direction, such as `de-fr`.
        sentences: number of sentences in its test set.
        key: digest of everything the files depend on: settings, source and reference text.
        pivot: the pivot language; None for direct translation.
        first_step: the file with the translations into the pivot, in the model's text form.
        into_pivot: whether the job makes `first_step` instead of the direction's files.
        perplexity: whether to also compute the validation set's perplexity.
    """

    direction: str
    sentences: int
    key: str = ""
    pivot: str | None = None
    first_step: Path | None = None
    into_pivot: bool = False
    perplexity: bool = False

    @property
    def name(self) -> str:
        """The name in the progress display."""
        if self.into_pivot:
            return f"{self.direction.split('-')[0]}-{self.pivot} (first step of a pivot)"
        return self.direction

    @property
    def target(self) -> str:
        """The language of the output."""
        return str(self.pivot if self.into_pivot else self.direction.split("-")[1])

    @property
    def counts(self) -> bool:
        """Whether the job makes a direction's files."""
        return not self.into_pivot

    def is_translated(self, out: Path) -> bool:
        """Whether the translations exist."""
        if self.into_pivot:
            return self.first_step is not None and self.first_step.is_file()
        return is_whole(out, self.direction, self.key)

    def is_whole(self, out: Path) -> bool:
        """Whether all output exists."""
        summary = read_summary(out, self.direction) or {}
        return self.is_translated(out) and (not self.perplexity or "perplexity" in summary)

    def perform(
        self, translators: Translators, data: DataFolder, out: Path, progress: Callable[[int], None]
    ) -> None:
        """Translate, and write the missing output.

        Raises:
            UserError: the direction cannot be translated.
        """
        if self.into_pivot:
            _into_pivot(self, translators, data, progress)
            return
        if not self.is_translated(out):
            _translate(self, translators, data, out, progress)
        if self.perplexity:
            summary = read_summary(out, self.direction) or {}
            perplexity = translators.of(self.direction).perplexity(self.direction)
            write_summary(out, self.direction, {**summary, "perplexity": perplexity})


def plan(
    data: DataFolder,
    out: Path,
    directions: Sequence[str],
    settings: str,
    pivot: str | None = None,
    perplexity: bool = False,
) -> tuple[list[list[Job]], list[str]]:
    """Plan jobs in stages: jobs of a stage are independent, and follow the previous stage.

    A direction from or into the pivot is translated directly. A source text that several
    directions share is translated into the pivot once.

    Args:
        data: the folder with the test sets.
        out: the output folder.
        directions: the directions to translate.
        settings: a digest of the decoding settings.
        pivot: see `Job`.
        perplexity: see `Job`.

    Returns:
        The stages, and an error line for each direction that cannot be translated.
    """
    hashes: dict[Path, str] = {}

    def digest(path: Path) -> str:
        if path not in hashes:
            hashes[path] = sha256(path)
        return hashes[path]

    # with plain references, the plain text does not determine the text to translate
    in_pieces_alone = read_text_form(data.root).plain_references
    first: dict[Path, Job] = {}
    last, failures = [], []
    for direction in directions:
        source, target = languages_of(direction)
        try:
            sides = [data.reference(source, target, language) for language in (source, target)]
        except UserError as error:
            failures.append(f"{direction}: {error}")
            continue
        texts = [digest(path) for path in sides]
        if in_pieces_alone:
            texts[0] += digest(data.root / "pieces" / sides[0].name)
        key = hashlib.sha256(" ".join([settings, *texts]).encode()).hexdigest()[:16]
        job = Job(direction, count_lines(sides[0]), key, perplexity=perplexity)
        if pivot is not None and pivot not in (source, target):
            source_key = hashlib.sha256(f"{settings} {texts[0]}".encode()).hexdigest()[:12]
            place = out / "pivot" / f"{source}-{pivot}.{source_key}.hyp"
            first.setdefault(place, Job(direction, job.sentences, key, pivot, place, True))
            job = Job(direction, job.sentences, key, pivot, place, False, perplexity)
        last.append(job)
    last.sort(
        key=lambda job: -job.sentences
    )  # longest first, so that no worker waits long for the last job
    return [stage for stage in (list(first.values()), last) if stage], failures


def _into_pivot(
    job: Job, translators: Translators, data: DataFolder, progress: Callable[[int], None]
) -> None:
    assert job.first_step is not None
    source, target = languages_of(job.direction)
    direct = f"{source}-{job.pivot}"
    translator = translators.of(direct)
    sources = data.reference(source, target, source)
    if direct in data.test_directions and data.reference(*languages_of(direct), source) == sources:
        hypotheses = translator.translate_test(direct, progress)
    else:
        lines = data_side(data, job.direction, source)
        hypotheses = translator.translate_lines(direct, lines, progress)
    job.first_step.parent.mkdir(exist_ok=True)
    write_text(job.first_step, (join_pieces(hypothesis.pieces) for hypothesis in hypotheses))


def _translate(
    job: Job,
    translators: Translators,
    data: DataFolder,
    out: Path,
    progress: Callable[[int], None],
) -> None:
    start = time.monotonic()
    target = languages_of(job.direction)[1]
    sides = sides_of(job, data)
    between: list[str] | None = None
    if job.first_step is None:
        hypotheses = translators.of(job.direction).translate_test(job.direction, progress)
    elif not job.first_step.is_file():
        raise UserError(f"the first step, into the pivot {job.pivot}, must succeed; it failed")
    else:
        lines = list(read_lines(job.first_step))
        step = f"{job.pivot}-{target}"
        hypotheses = translators.of(step).translate_lines(step, lines, progress, prepared=True)
        between = read_text_form(data.root).plain(lines, job.pivot or "")
    write_result(job, out, sides, hypotheses, time.monotonic() - start, between)


def sides_of(job: Job, data: DataFolder) -> Texts:
    """The sources and references of a direction, with the sources as placeholder hypotheses.

    Raises:
        UserError: a side is missing, or the numbers of lines differ.
    """
    sources, references = (
        data_side(data, job.direction, language) for language in languages_of(job.direction)
    )
    texts = Texts(job.direction, sources, sources, references)
    check_counts(texts)
    return texts


def write_result(
    job: Job,
    out: Path,
    sides: Texts,
    hypotheses: Sequence[Hypothesis],
    seconds: float,
    between: list[str] | None = None,
) -> None:
    """Write all files of a direction.

    Args:
        job: the direction's job.
        out: the output folder.
        sides: the result of `sides_of`.
        hypotheses: one per sentence.
        seconds: translation time in seconds.
        between: translations into the pivot, if there is one.

    Raises:
        UserError: the number of hypotheses differs from that of sentences.
    """
    texts = replace(sides, hypotheses=tuple(hypothesis.text for hypothesis in hypotheses))
    check_counts(texts)
    summary = {
        "direction": job.direction,
        "sentences": len(hypotheses),
        "seconds": round(seconds, 1),
        "pivot": job.pivot if between is not None else None,
        "key": job.key,
    }
    write_direction(out, texts, _records(texts, hypotheses, between), summary)


def _records(
    texts: Texts, hypotheses: Sequence[Hypothesis], between: Sequence[str] | None
) -> list[dict[str, object]]:
    """One record per sentence for the JSON lines file; scores are log2, as in fairseq's output."""
    assert texts.sources is not None
    rows = zip(texts.sources, hypotheses, texts.references, strict=True)
    return [
        {
            "id": number,
            "source": source,
            "hypothesis": hypothesis.text,
            "reference": reference,
            "score": round(hypothesis.score, 6),
            "pieces": hypothesis.pieces,
            **({"pivot": between[number]} if between is not None else {}),
        }
        for number, (source, hypothesis, reference) in enumerate(rows)
    ]
