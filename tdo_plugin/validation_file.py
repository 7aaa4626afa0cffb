"""``validation.jsonl``, the log of a training's validations: one direction per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdo_plugin.names import check_directions
from tdo_plugin.typed import parse_json, typed

GROUPS = ("supervised", "zero_shot")
SCORES = ("bleu", "chrf", "off")


@dataclass(frozen=True)
class Validated:
    """The result for one direction in one validation.

    Attributes:
        update: after which it was translated.
        direction: such as `de-fr`.
        group: one of `GROUPS`.
        bleu: from 0 to 100, like the other scores.
        chrf: None if it was not computed.
        off: percentage of hypotheses in another language; None if the target is unknown to the
            identifier.
        subset: of the sentences; with `--eval-subset` it may be another than a validation set.
        sentences: number of translated sentences.
        examples: some of them.
    """

    update: int
    direction: str
    group: str
    bleu: float
    chrf: float | None = None
    off: float | None = None
    subset: str = "valid"
    sentences: int = 0
    examples: tuple[Any, ...] = field(default=(), repr=False)

    def scores(self) -> dict[str, float]:
        """The scores that were computed."""
        values = ((key, getattr(self, key)) for key in SCORES)
        return {key: value for key, value in values if value is not None}


Validations = dict[int, dict[str, Validated]]


def read_validations(files: Sequence[Path]) -> Validations:
    """Each direction's line, by update in ascending order.

    Args:
        files: of successive trainings; if an update occurs more than once, in several files or in
            one after resuming, the later line counts.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file has another format; a direction is missing in some validation of its
            group, so that a mean would cover fewer directions; or a direction has several subsets.
    """
    by_update: Validations = {}
    for path in files:
        for number, text in enumerate(_lines(path), 1):
            where = f"{path} line {number}"
            try:
                row: Validated = typed(parse_json(text), Validated, "it")
                _check(row)
            except ValueError as error:
                raise ValueError(f"{where} is not a validation: {error}") from None
            by_update.setdefault(row.update, {})[row.direction] = row
    rows = dict(sorted(by_update.items()))
    for what in _missing(rows):
        raise ValueError(f"{', '.join(map(str, files))} lacks {what}")
    return rows


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text: {error.reason} at byte {error.start + 1}") from None


def _check(row: Validated) -> None:
    check_directions([row.direction], "it")
    if row.update < 0 or row.sentences < 0:
        raise ValueError("its update and sentences must be at least 0; one of them is negative")
    if row.group not in GROUPS:
        raise ValueError(f"its group must be {' or '.join(GROUPS)}; it is {row.group}")
    for key, value in row.scores().items():
        if not 0 <= value <= 100:
            raise ValueError(f"its {key} must be from 0 to 100; it is {value}")


def _missing(rows: Validations) -> Iterator[str]:
    """What a validation lacks that others have, or that another direction in it has."""
    every = [row for by_direction in rows.values() for row in by_direction.values()]
    groups = {row.direction: row.group for row in every}
    subsets = {row.direction: row.subset for row in every}
    measured = {(row.direction, key) for row in every for key in row.scores()}
    for update, by_direction in rows.items():
        peers = {row.group for row in by_direction.values()}
        for direction, group in groups.items():
            row = by_direction.get(direction)
            if row is None and group in peers:
                yield f"{direction} of update {update}, which other updates have"
            if row is not None and row.group != group:
                yield f"one group of {direction}: it has {row.group} and {group}"
            if row is not None and row.subset != subsets[direction]:
                yield f"one subset of {direction}: it has {row.subset} and {subsets[direction]}"
        for key in {key for row in by_direction.values() for key in row.scores()}:
            for direction, row in by_direction.items():
                if (direction, key) in measured and key not in row.scores():
                    yield f"{key} of {direction} of update {update}, which other updates have"
