"""A system's folder of hypotheses: what `tdo translate` writes, and what other tools left.

For each direction, line i of every file belonging to sentence i:

    de-fr.src  de-fr.hyp  de-fr.ref    plain text, detokenized, in the order of the test set
    de-fr.jsonl                        one object a sentence: id, score, pieces, texts
    de-fr.json                         number of sentences, seconds; written last, so it marks a
                                       whole direction
    translate.json                     how all of it was made
    fairseq/de-fr/                     with `--engine fairseq`, what fairseq-generate wrote and said

Files from elsewhere need only `de-fr.hyp`, and `de-fr.ref` unless a data folder has the reference.
The folders of `fairseq-generate`, de-fr/generate-test.txt, are read too.
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
RAW = "fairseq"  # folder for what fairseq-generate wrote, a folder a direction
LINES = ("src", "ref", "hyp", "jsonl")  # of a direction, a line a sentence


@dataclass(frozen=True)
class How:
    """Of what `translate.json` says, what is read again."""

    settings: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """Of what a direction's JSON file says, what is read again."""

    key: str = ""
    sentences: int = 0
    perplexity: float | None = None


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its pieces, the text they make, and fairseq's score (log2, normalised)."""

    pieces: str
    text: str
    score: float


@dataclass(frozen=True)
class Texts:
    """One direction of one system. `sources` is None where they are not known."""

    direction: str
    sources: tuple[str, ...] | None
    hypotheses: tuple[str, ...]
    references: tuple[str, ...]


def directions_of(folder: Path) -> list[str]:
    """The directions that a system's folder has hypotheses of, sorted.

    Raises:
        UserError: there are none.
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
        UserError: it is no direction.
    """
    match = DIRECTION.fullmatch(direction)
    if match is None:
        raise UserError(
            f"`{option}` must be directions such as de-fr or en-pt_BR; it is {direction}"
        )
    return match[1], match[2]


def read_texts(folder: Path, direction: str, data: DataFolder | None = None) -> Texts:
    """Sources, hypotheses and references of a direction.

    References and sources beside the hypotheses win over those of `data`.

    Raises:
        UserError: a file is missing or empty, or their numbers of lines differ.
    """
    source, target = languages_of(direction)
    references = _side(folder, direction, "ref", target, data)
    if references is None:
        raise UserError(
            f"`{direction}.ref` must be beside the hypotheses, or --data name a folder with the "
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
    """Raise UserError where there is nothing, or the numbers of lines differ."""
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
        UserError: the folder lacks it.
    """
    source, target = direction.split("-")
    path = data.reference(source, target, language)
    return _plain(path, read_text_form(data.root), language)


@lru_cache(maxsize=256)
def _plain(path: Path, form: TextForm, language: str) -> tuple[str, ...]:
    # a test set that is parallel over all languages is the side of many directions
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
    """The best hypothesis of every test sentence that fairseq-generate printed, pieces joined.

    Of its lines, `H-ID<tab>score<tab>pieces` count; with `--nbest` the first of each ID, which is
    the best. A file without any piece that begins a word was joined already (`--remove-bpe`) and
    stays as it is.

    Args:
        path: a `generate-*.txt`.
        count: sentences in the test set.

    Raises:
        UserError: no such file, or not one hypothesis for each of `count` sentences.
    """
    return joined([pieces for _, pieces in read_scored(path, count)])


def joined(texts: Sequence[str]) -> list[str]:
    """What fairseq-generate printed, as text; see `read_generated`."""
    in_pieces = any("▁" in text for text in texts)
    return [join_pieces(text) if in_pieces else text.strip() for text in texts]


def read_scored(path: Path, count: int) -> list[tuple[float, str]]:
    """Score (log2, as fairseq prints it) and pieces of what `read_generated` reads.

    Raises:
        UserError: as `read_generated`.
    """
    if not path.is_file():
        raise UserError(f"`{path}` must be the output of fairseq-generate; there is no such file")
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
                f"`{path}` must hold H-ID<tab>score<tab>text; it has: {line[:60]}"
            ) from None
    missing = next((number for number in range(count) if number not in hypotheses), None)
    if missing is not None or len(hypotheses) != count:
        detail = f", sentence {missing} is missing" if missing is not None else ""
        raise UserError(f"`{path}` must hold {count} hypotheses; it has {len(hypotheses)}{detail}")
    return [hypotheses[number] for number in range(count)]


def write_direction(
    folder: Path, texts: Texts, sentences: Sequence[dict[str, Any]], summary: dict[str, Any]
) -> None:
    """Write a direction's files; each appears only complete, the summary last."""
    # before the hypotheses: after a kill, those without records would pass for someone else's
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
    """What `write_direction` wrote last; None where the direction is not whole."""
    return _read_json(folder / f"{direction}.json")


def is_whole(folder: Path, direction: str, key: str) -> bool:
    """Whether all of a direction's files are there with all their lines, made under `key`."""
    summary = read_summary(folder, direction)
    if summary is None or summary.get("key") != key:
        return False
    files = [folder / f"{direction}.{suffix}" for suffix in LINES]
    return all(p.is_file() and count_lines(p) == summary.get("sentences") for p in files)


def write_summary(folder: Path, direction: str, summary: dict[str, Any]) -> None:
    """Write what marks a direction as whole."""
    write_text(folder / f"{direction}.json", [json.dumps(summary, ensure_ascii=False)])


def has_others_hypotheses(folder: Path) -> bool:
    """Whether there are hypotheses that `tdo translate` did not write."""
    paths = [path for path in folder.glob("*.hyp") if DIRECTION.fullmatch(path.stem)]
    return any(not path.with_suffix(".jsonl").is_file() for path in paths)


def remove_translations(folder: Path) -> None:
    """Remove what `tdo translate` wrote, and nothing else."""
    for records in folder.glob("*.jsonl"):
        if DIRECTION.fullmatch(records.stem):
            for suffix in (*LINES, "json"):
                records.with_suffix(f".{suffix}").unlink(missing_ok=True)
    for path in (folder / HOW, *folder.glob("pivot/*.hyp")):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / RAW, ignore_errors=True)


def read_how(folder: Path) -> dict[str, Any] | None:
    """How the folder was made; None where `tdo translate` did not make it.

    Raises:
        UserError: it says so, but cannot be read.
    """
    if not (folder / HOW).is_file():
        return None
    return _known(folder / HOW, How)


def write_how(folder: Path, how: dict[str, Any]) -> None:
    """Write down how the folder is made."""
    write_text(folder / HOW, [json.dumps(how, indent=1, ensure_ascii=False)])


def summary_of(folder: Path, direction: str) -> dict[str, Any]:
    """What `tdo translate` found of a direction; {} where it did not make it.

    Raises:
        UserError: it says so, but cannot be read.
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
            f"`{path}` must be of tdo translate, whose --fresh makes it anew; {error}"
        ) from None
    return content


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
