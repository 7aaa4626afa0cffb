"""What a worker does for one direction, and the order in which directions are dealt out."""

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
    """What one worker does at a time; hashable.

    Attributes:
        sentences: how many it goes through.
        name: what progress calls it.
        target: the language that it puts out.
        counts: whether progress counts it among those to do.
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
        """Whether all that it makes is there already."""
        ...

    def perform(
        self, loaded: Any, data: DataFolder, out: Path, progress: Callable[[int], None]
    ) -> None:
        """Do it with what the worker has loaded; raises UserError where that cannot be."""
        ...


@dataclass(frozen=True)
class Job:
    """One direction for one worker.

    Attributes:
        direction: whose files the job writes, such as `de-fr`.
        sentences: of its test set.
        key: of what the files depend on: settings, source and reference text.
        pivot: the language between source and target; None translates straight.
        first_step: where the translations into the pivot are, in the form that the model knows.
        into_pivot: whether the job makes that file instead of the direction's.
        perplexity: whether to measure the validation set's perplexity too.
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
        """What progress calls it."""
        if self.into_pivot:
            return f"{self.direction.split('-')[0]}-{self.pivot} (first step of a pivot)"
        return self.direction

    @property
    def target(self) -> str:
        """The language that it puts out."""
        return str(self.pivot if self.into_pivot else self.direction.split("-")[1])

    @property
    def counts(self) -> bool:
        """Whether it makes a direction's files."""
        return not self.into_pivot

    def is_translated(self, out: Path) -> bool:
        """Whether its text is there already."""
        if self.into_pivot:
            return self.first_step is not None and self.first_step.is_file()
        return is_whole(out, self.direction, self.key)

    def is_whole(self, out: Path) -> bool:
        """Whether all that it makes is there already."""
        summary = read_summary(out, self.direction) or {}
        return self.is_translated(out) and (not self.perplexity or "perplexity" in summary)

    def perform(
        self, translators: Translators, data: DataFolder, out: Path, progress: Callable[[int], None]
    ) -> None:
        """Translate and write what is not there yet.

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
    """Jobs in stages: those of a stage do not wait for each other, those of the next do.

    A direction from or into the pivot is translated straight. A source text that several
    directions share goes into the pivot once.

    Args:
        data: the folder with the test sets.
        out: where results go.
        directions: to translate.
        settings: a digest of how.
        pivot: see `Job`.
        perplexity: see `Job`.

    Returns:
        The stages, and a line for each direction that cannot be translated.
    """
    hashes: dict[Path, str] = {}

    def digest(path: Path) -> str:
        if path not in hashes:
            hashes[path] = sha256(path)
        return hashes[path]

    # what is translated does not follow from the plain text then
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
    last.sort(key=lambda job: -job.sentences)  # the longest first, so that no worker waits for it
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
        raise UserError(f"`--pivot` must be reached first; the step into {job.pivot} failed")
    else:
        lines = list(read_lines(job.first_step))
        step = f"{job.pivot}-{target}"
        hypotheses = translators.of(step).translate_lines(step, lines, progress, prepared=True)
        between = read_text_form(data.root).plain(lines, job.pivot or "")
    write_result(job, out, sides, hypotheses, time.monotonic() - start, between)


def sides_of(job: Job, data: DataFolder) -> Texts:
    """The sources and references of a direction; the sources stand for hypotheses, too.

    Raises:
        UserError: one of them is missing, or their numbers differ.
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
        job: the direction's.
        out: where they go.
        sides: what `sides_of` read.
        hypotheses: one a sentence.
        seconds: how long it took to translate.
        between: with a pivot, what stood between.

    Raises:
        UserError: there are not as many hypotheses as sentences.
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
    """One record a sentence, for the JSON lines file; scores are log2, as fairseq prints them."""
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
