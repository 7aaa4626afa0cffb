"""Scores of several systems on several directions, and their means over groups of directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.evaluation.language_id import Identifier
from tdo_plugin.evaluation.outputs import read_hypotheses
from tdo_plugin.evaluation.scoring import Score, score


@dataclass(frozen=True)
class DirectionResult:
    """One system on one direction. `off` is the off-target share in percent, if it is known."""

    direction: str
    group: str
    sentences: int
    score: Score
    off: float | None
    languages: dict[str, int]


@dataclass(frozen=True)
class Means:
    """Means over the directions of a group; `off` over those where it is known."""

    bleu: float
    chrf: float
    off: float | None
    directions: int


@dataclass(frozen=True)
class Report:
    """Results of every system (by name), in the order given."""

    groups: tuple[str, ...]
    systems: dict[str, tuple[DirectionResult, ...]]
    lid_signature: str
    not_covered: tuple[str, ...]

    def means(self, system: str, group: str) -> Means | None:
        """Means of one system over one group; None where it has no direction of it."""
        rows = [row for row in self.systems[system] if row.group == group]
        if not rows:
            return None
        known = [row.off for row in rows if row.off is not None]
        return Means(
            bleu=fmean(row.score.bleu for row in rows),
            chrf=fmean(row.score.chrf for row in rows),
            off=fmean(known) if known else None,
            directions=len(rows),
        )

    def signatures(self) -> list[str]:
        """Every signature in use, each once."""
        scores = [row.score for rows in self.systems.values() for row in rows]
        found = [f"BLEU|{score.bleu_signature}" for score in scores]
        found += [f"chrF++|{score.chrf_signature}" for score in scores]
        return list(dict.fromkeys(found))

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain dictionaries and lists."""
        return {
            "language_identification": self.lid_signature,
            "languages_not_covered": list(self.not_covered),
            "systems": {
                name: {
                    "means": {
                        group: asdict(means)
                        for group in self.groups
                        if (means := self.means(name, group))
                    },
                    "directions": [asdict(row) for row in rows],
                }
                for name, rows in self.systems.items()
            },
        }


def group_of(data: DataFolder, direction: str) -> str:
    """`en → X`, `X → en`, `zero-shot`; without one shared language, `supervised`."""
    if data.kind(direction) == "zero-shot":
        return "zero-shot"
    hub = data.hub()
    if hub is None or len(data.languages) < 3:
        return "supervised"
    return f"{hub} → X" if direction.startswith(f"{hub}-") else f"X → {hub}"


def evaluate(
    data: DataFolder,
    systems: dict[str, Path],
    directions: Iterable[str],
    identifier: Identifier,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Score each system's FOLDER/DIRECTION/generate-test.txt against the raw references.

    Raises:
        UserError: an output is missing or not whole, or a reference is missing.
    """
    chosen = list(directions)
    references = {}
    for direction in chosen:
        source, target = direction.split("-")
        references[direction] = list(read_lines(data.reference(source, target, target)))
    results = {}
    for name, folder in systems.items():
        rows = []
        for direction in chosen:
            reference, target = references[direction], direction.split("-")[1]
            output = folder / direction / "generate-test.txt"
            hypotheses = read_hypotheses(output, len(reference))
            label = identifier.label(target)
            found = Counter(identifier.identify(hypotheses)) if label else Counter()
            off = 100 * (1 - found[label] / len(hypotheses)) if label else None
            rows.append(
                DirectionResult(
                    direction=direction,
                    group=group_of(data, direction),
                    sentences=len(reference),
                    score=score(hypotheses, reference, target),
                    off=off,
                    languages=dict(found),
                )
            )
        progress(f"{name}: {len(rows)} directions scored")
        results[name] = tuple(rows)
    present = {group_of(data, direction) for direction in chosen}
    hub = data.hub()
    order = (f"{hub} → X", f"X → {hub}", "supervised", "zero-shot")
    return Report(
        groups=tuple(group for group in order if group in present),
        systems=results,
        lid_signature=identifier.signature,
        not_covered=tuple(lang for lang in data.languages if identifier.label(lang) is None),
    )
