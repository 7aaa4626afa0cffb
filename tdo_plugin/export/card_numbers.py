"""The numbers of a model card: scores of `tdo score`, and what they leave untested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.score_sheet import METRICS, ScoreSheet, SystemScores
from tdo_plugin.evaluation.sheet_reading import read_sheet
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.runtime.files import sha256


@dataclass(frozen=True)
class Scores:
    """A score sheet, and the model's scores in it."""

    sheet: ScoreSheet
    system: SystemScores

    @property
    def data(self) -> str:
        """The name of the data folder with the test sets."""
        return Path(str(self.system.provenance.get("data") or "unknown data")).name


def read_scores(path: Path, opened: OpenedModel) -> Scores:
    """The scores of a model in a `scores.json` of `tdo score`.

    Raises:
        UserError: the sheet is unreadable, or has no scores of this checkpoint, recognised by the
            digest of its file.
    """
    sheet = read_sheet(path)
    digest = [sha256(opened.path)]
    for system in sheet.systems:
        if system.provenance.get("settings", {}).get("checkpoints_sha256") == digest:
            return Scores(sheet, system)
    names = ", ".join(system.name for system in sheet.systems)
    raise UserError(
        f"`--scores` must have scores of {opened.path.name}, translated by `tdo translate`; {path} "
        f"has those of other files ({names})"
    )


def score_lines(scores: Scores, opened: OpenedModel) -> Iterator[str]:
    """A table of scores by direction, the signatures of the metrics, and the search."""
    sheet, system = scores.sheet, scores.system
    metrics = [METRICS[key] for key in sheet.metrics]
    known = () if opened.converted else ("trained",)
    head = ("direction", *known, "sentences", *(each.name for each in metrics))
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in system.directions:
        numbers = [
            f"{row.scores[each.key]:.{each.digits}f}" if each.key in row.scores else ""
            for each in metrics
        ]
        trained = ("yes" if row.direction in opened.directions else "no",)[: len(known)]
        yield f"| {' | '.join((row.direction, *trained, str(row.sentences), *numbers))} |"
    settings = system.provenance["settings"]
    yield ""
    yield (
        f"Search: beam {settings['beam']}, length penalty {settings['length_penalty']}, "
        f"{settings['precision']}, by `tdo translate` on `{scores.data}`. "
        "Signatures:"
    )
    yield ""
    for key, lines in sheet.signatures.items():
        yield from (f"- {METRICS[key].name}: `{line}`" for line in lines)


def untested(opened: OpenedModel, scores: Scores | None) -> Iterator[str]:
    """What no score covers, as sentences."""
    tested = {row.direction for row in scores.system.directions} if scores else set()
    pairs = ["-".join(pair) for pair in permutations(opened.languages, 2)]
    trained = {*opened.directions}
    kinds = {"directions": [pair for pair in pairs if pair not in tested]}
    if not opened.converted:
        kinds = {
            f"{kind} directions": [pair for pair in kinds["directions"] if (pair in trained) is yes]
            for kind, yes in (("trained", True), ("zero-shot", False))
        }
    for kind, directions in kinds.items():
        if directions:
            shown = ", ".join(directions[:12]) + (", ..." if len(directions) > 12 else "")
            yield f"{kind} ({len(directions)}): {shown}"
    if scores:
        yield f"text from other sources than `{scores.data}`"
    yield "bias, toxicity and safety of translations"
