"""A system's folder of hypotheses, from `tdo translate` or from other tools.

For each direction, line i of every file belonging to sentence i:

    de-fr.src  de-fr.hyp  de-fr.ref    plain text, detokenized, in the order of the test set
    de-fr.jsonl                        one object per sentence: id, score, pieces, texts
    de-fr.json                         number of sentences, seconds; written last, so that it marks
                                       a complete direction
    translate.json                     settings and provenance of the folder
    fairseq/de-fr/                     with `--engine fairseq`, output and log of fairseq-generate

Folders from other tools need only `de-fr.hyp`, and `de-fr.ref` unless a data folder has the
reference. Output folders of `fairseq-generate`, de-fr/generate-test.txt, can also be read.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.data.textfolder import count_lines, read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import TextForm, read_text_form
from tdo_plugin.names import DIRECTION
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json, typed

GENERATED = "generate-test.txt"
HOW = "translate.json"
RAW = "fairseq"  # folder with the output of fairseq-generate, one folder per direction
LINES = ("src", "ref", "hyp", "jsonl")  # a direction's files with one line per sentence


@dataclass(frozen=True)
class How:
    """The fields of `translate.json` that are read back."""

    settings: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """The fields of a direction's JSON file that are read back."""

    key: str = ""
    sentences: int = 0
    perplexity: float | None = None


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its pieces, its text, and fairseq's score (log2, normalised)."""

    pieces: str
    text: str
    score: float


@dataclass(frozen=True)
class Texts:
    """One direction of one system. `sources` is None if they are unknown."""

    direction: str
    sources: tuple[str, ...] | None
    hypotheses: tuple[str, ...]
    references: tuple[str, ...]


def directions_of(folder: Path) -> list[str]:
    """The directions for which a system's folder has hypotheses, sorted.

    Raises:
        UserError: the folder has no hypotheses.
    """
    directions = [path.stem for path in folder.glob("*.hyp") if DIRECTION.fullmatch(path.stem)]
    directions += [
        path.parent.name
        for path in folder.glob(f"*/{GENERATED}")
        if DIRECTION.fullmatch(path.parent.name)
    ]
    if not directions:
        raise UserError(
            "`NAME=DIR` must name a folder with SOURCE-TARGET.hyp (or the folders of "
            f"fairseq-generate); {folder} has none"
        )
    return sorted(set(directions))


def languages_of(direction: str, option: str = "--directions") -> tuple[str, str]:
    """Source and target of `de-fr`.

    Raises:
        UserError: the text is not a direction.
    """
    match = DIRECTION.fullmatch(direction)
    if match is None:
        raise UserError(
            f"`{option}` must be directions such as de-fr or en-pt_BR; it is {direction}"
        )
    return match[1], match[2]


def read_texts(folder: Path, direction: str, data: DataFolder | None = None) -> Texts:
    """Sources, hypotheses and references of a direction.

    References and sources next to the hypotheses take precedence over those of `data`.

    Raises:
        UserError: a file is missing or empty, or their numbers of lines differ.
    """
    source, target = languages_of(direction)
    references = _side(folder, direction, "ref", target, data)
    if references is None:
        raise UserError(
            f"`{direction}.ref` must be next to the hypotheses, or --data name a folder with the "
            f"references; {folder} does not have it"
        )
    try:
        sources = _side(folder, direction, "src", source, data)
    except UserError:  # few metrics need them
        sources = None
    hypotheses = _hypotheses(folder, direction, len(references), data)
    texts = Texts(direction, sources, hypotheses, references)
    check_counts(texts)
    return texts


def check_counts(texts: Texts) -> None:
    """Raise UserError if there are no lines, or the numbers of lines differ."""
    count = len(texts.references)
    if not count:
        raise UserError(f"`{texts.direction}.ref` must have at least one line; it is empty")
    for name, lines in (("hyp", texts.hypotheses), ("src", texts.sources)):
        if lines is not None and len(lines) != count:
            raise UserError(
                f"`{texts.direction}.{name}` must have as many lines as the reference, {count}; "
                f"it has {len(lines)}"
            )


def _side(
    folder: Path, direction: str, suffix: str, language: str, data: DataFolder | None
) -> tuple[str, ...] | None:
    path = folder / f"{direction}.{suffix}"
    if path.is_file():
        return tuple(read_lines(path))
    if data is None:
        return None
    return data_side(data, direction, language)


def data_side(data: DataFolder, direction: str, language: str) -> tuple[str, ...]:
    """The raw test text of one side of a direction, as plain text.

    Raises:
        UserError: the folder lacks the text.
    """
    source, target = direction.split("-")
    path = data.reference(source, target, language)
    return _plain(path, read_text_form(data.root), language)


@lru_cache(maxsize=256)
def _plain(path: Path, form: TextForm, language: str) -> tuple[str, ...]:
    # cached, as many directions share a side of a test set that is parallel over all languages
    return tuple(form.references(list(read_lines(path)), language))


def _hypotheses(
    folder: Path, direction: str, count: int, data: DataFolder | None
) -> tuple[str, ...]:
    path = folder / f"{direction}.hyp"
    if path.is_file():
        return tuple(read_lines(path))
    lines = read_generated(folder / direction / GENERATED, count)
    form = read_text_form(data.root) if data else TextForm()
    return tuple(form.plain(lines, direction.split("-")[1]))


def read_generated(path: Path, count: int) -> list[str]:
    """The best hypothesis of every test sentence in the output of fairseq-generate, detokenized.

    Reads lines `H-ID<tab>score<tab>pieces`; with `--nbest` the first of each ID, which is the best.
    A file without any word-initial piece was already detokenized (`--remove-bpe`) and is kept as
    it is.

    Args:
        path: a `generate-*.txt`.
        count: number of sentences in the test set.

    Raises:
        UserError: a missing file, or not exactly one hypothesis for each sentence.
    """
    return joined([pieces for _, pieces in read_scored(path, count)])


def joined(texts: Sequence[str]) -> list[str]:
    """The output of fairseq-generate as text; see `read_generated`."""
    in_pieces = any("▁" in text for text in texts)
    return [join_pieces(text) if in_pieces else text.strip() for text in texts]


def read_scored(path: Path, count: int) -> list[tuple[float, str]]:
    """Score (log2, as fairseq prints it) and pieces of each hypothesis; see `read_generated`.

    Raises:
        UserError: see `read_generated`.
    """
    if not path.is_file():
        raise UserError(
            f"`{path}` must be written by `tdo translate` or fairseq-generate; it does not exist"
        )
    hypotheses: dict[int, tuple[float, str]] = {}
    for line in read_lines(path):
        if not line.startswith("H-"):
            continue
        fields = line.split("\t", 2)
        number = fields[0][2:]
        try:
            score = float(fields[1])
            hypotheses.setdefault(int(number), (score, fields[2] if len(fields) > 2 else ""))
        except (IndexError, ValueError):
            raise UserError(
                f"`{path}` must have lines H-ID<tab>score<tab>text; it has: {line[:60]}"
            ) from None
    missing = next((number for number in range(count) if number not in hypotheses), None)
    if missing is not None or len(hypotheses) != count:
        detail = f", sentence {missing} is missing" if missing is not None else ""
        raise UserError(f"`{path}` must have {count} hypotheses; it has {len(hypotheses)}{detail}")
    return [hypotheses[number] for number in range(count)]


def write_direction(
    folder: Path, texts: Texts, sentences: Sequence[dict[str, Any]], summary: dict[str, Any]
) -> None:
    """Write a direction's files, each atomically, the summary last."""
    # before the hypotheses: without records, they would look like those of another program
    write_text(
        folder / f"{texts.direction}.jsonl",
        (json.dumps(sentence, ensure_ascii=False) for sentence in sentences),
    )
    sides = {"src": texts.sources, "ref": texts.references, "hyp": texts.hypotheses}
    for suffix, lines in sides.items():
        if lines is not None:
            write_text(folder / f"{texts.direction}.{suffix}", lines)
    write_summary(folder, texts.direction, summary)


def read_summary(folder: Path, direction: str) -> dict[str, Any] | None:
    """The summary by `write_direction`; None if the direction is incomplete."""
    return _read_json(folder / f"{direction}.json")


def is_whole(folder: Path, direction: str, key: str) -> bool:
    """Whether all of a direction's files exist with all lines, made with `key`."""
    summary = read_summary(folder, direction)
    if summary is None or summary.get("key") != key:
        return False
    files = [folder / f"{direction}.{suffix}" for suffix in LINES]
    return all(p.is_file() and count_lines(p) == summary.get("sentences") for p in files)


def write_summary(folder: Path, direction: str, summary: dict[str, Any]) -> None:
    """Write the summary, which marks a direction as complete."""
    write_text(folder / f"{direction}.json", [json.dumps(summary, ensure_ascii=False)])


def has_others_hypotheses(folder: Path) -> bool:
    """Whether the folder has hypotheses that `tdo translate` did not write."""
    paths = [path for path in folder.glob("*.hyp") if DIRECTION.fullmatch(path.stem)]
    return any(not path.with_suffix(".jsonl").is_file() for path in paths)


def remove_translations(folder: Path) -> None:
    """Remove the files of `tdo translate`, and nothing else."""
    for records in folder.glob("*.jsonl"):
        if DIRECTION.fullmatch(records.stem):
            for suffix in (*LINES, "json"):
                records.with_suffix(f".{suffix}").unlink(missing_ok=True)
    for path in (folder / HOW, *folder.glob("pivot/*.hyp")):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / RAW, ignore_errors=True)


def read_how(folder: Path) -> dict[str, Any] | None:
    """The content of `translate.json`; None if the folder has none.

    Raises:
        UserError: the file is invalid.
    """
    if not (folder / HOW).is_file():
        return None
    return _known(folder / HOW, How)


def write_how(folder: Path, how: dict[str, Any]) -> None:
    """Write `translate.json`."""
    write_text(folder / HOW, [json.dumps(how, indent=1, ensure_ascii=False)])


def summary_of(folder: Path, direction: str) -> dict[str, Any]:
    """The summary of `tdo translate` for a direction; {} if there is none.

    Raises:
        UserError: the file is invalid.
    """
    path = folder / f"{direction}.json"
    return _known(path, Summary) if path.is_file() else {}


def _known(path: Path, kind: type) -> dict[str, Any]:
    try:
        content = read_json(path)
        if not isinstance(content, dict):
            raise ValueError("it must be an object")
        names = {field.name for field in fields(kind)}
        typed({name: value for name, value in content.items() if name in names}, kind, "it")
    except ValueError as error:
        raise UserError(
            f"`{path}` must be from tdo translate (remake it with --fresh); {error}"
        ) from None
    return content


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
