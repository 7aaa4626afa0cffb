"""The numbers of a model card: scores of `tdo score`, and what they leave untested."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.score_sheet import METRICS, ScoreSheet, SystemScores
from tdo_plugin.evaluation.sheet_reading import read_sheet
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.runtime.files import sha256


def read_scores(path: Path, opened: OpenedModel) -> tuple[ScoreSheet, SystemScores]:
    """A score sheet, and the scores in it of the model.

    Raises:
        UserError: the sheet is unreadable, or has no scores of this checkpoint, recognised by the
            digest of its file.
    """
    sheet = read_sheet(path)
    digest = [sha256(opened.path)]
    for system in sheet.systems:
        if system.provenance.get("settings", {}).get("checkpoints_sha256") == digest:
            return sheet, system
    names = ", ".join(system.name for system in sheet.systems)
    raise UserError(
        f"`--scores` must have scores of {opened.path.name}, translated by `tdo translate`; {path} "
        f"has those of other files ({names})"
    )


def score_lines(sheet: ScoreSheet, system: SystemScores, opened: OpenedModel) -> Iterator[str]:
    """A table of scores by direction, the signatures of the metrics, and the search."""
    metrics = [METRICS[key] for key in sheet.metrics]
    yield f"| direction | trained | sentences | {' | '.join(each.name for each in metrics)} |"
    yield "|---|---|---|" + "---|" * len(metrics)
    for row in system.directions:
        numbers = [
            f"{row.scores[each.key]:.{each.digits}f}" if each.key in row.scores else ""
            for each in metrics
        ]
        trained = "yes" if row.direction in opened.directions else "no"
        yield f"| {row.direction} | {trained} | {row.sentences} | {' | '.join(numbers)} |"
    settings = system.provenance["settings"]
    yield ""
    yield (
        f"Search: beam {settings['beam']}, length penalty {settings['length_penalty']}, "
        f"{settings['precision']}, by `tdo translate` on `{_name(system.provenance.get('data'))}`. "
        "Signatures:"
    )
    yield ""
    for key, lines in sheet.signatures.items():
        yield from (f"- {METRICS[key].name}: `{line}`" for line in lines)


def untested(opened: OpenedModel, system: SystemScores | None) -> Iterator[str]:
    """What no score covers, as sentences."""
    tested = {row.direction for row in system.directions} if system else set()
    pairs = ["-".join(pair) for pair in permutations(opened.languages, 2)]
    for kind, directions in (
        ("trained", [pair for pair in pairs if pair in opened.directions and pair not in tested]),
        ("zero-shot", [pair for pair in pairs if not {pair} & {*opened.directions, *tested}]),
    ):
        if directions:
            shown = ", ".join(directions[:12]) + (", ..." if len(directions) > 12 else "")
            yield f"{len(directions)} {kind} directions: {shown}"
    if system:
        yield f"text from other sources than `{_name(system.provenance.get('data'))}`"
    yield "bias, toxicity and safety of translations"


def _name(path: object) -> str:
    return Path(str(path or "")).name or "unknown"
