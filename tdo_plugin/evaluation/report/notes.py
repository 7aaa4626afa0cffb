"""Notes on how to read the numbers of a report."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tdo_plugin.evaluation.report.quantities import group_label
from tdo_plugin.evaluation.report.report_tables import measured_metrics, shows_pooled
from tdo_plugin.evaluation.report.table import BETTER, LEVEL, WORSE, Table
from tdo_plugin.evaluation.score_sheet import METRICS, ScoreSheet


def below(sheet: ScoreSheet, table: Table, best: str = "bold") -> list[str]:
    """The lines below a table: what is averaged, the caption, and the meaning of the marks.

    Args:
        sheet: the scores.
        table: one of the sheet's tables.
        best: how the output shows the best scores.
    """
    lines = [table.caption] if table.caption else []
    if table.key == "scores":
        lines += _averaged(sheet)
    if table.key in ("scores", "directions", "differences"):
        lines += legend(sheet, best if table.key != "differences" else "")
    return lines


def _averaged(sheet: ScoreSheet) -> Iterator[str]:
    counts = ", ".join(
        f"{group_label(sheet, group)} ({len(members)})" for group, members in sheet.groups.items()
    )
    zeros = ", without scores of exactly 0" * sheet.skip_zeros
    yield f"Means over directions{zeros}: {counts}."
    if shows_pooled(sheet):
        yield "Pooled: all test sets of the group scored as one."


def legend(sheet: ScoreSheet, best: str = "") -> list[str]:
    """One line on the marks, if there are any; `best` says how the best scores are shown."""
    marks = []
    if any(comparison.groups for comparison in sheet.comparisons):
        baselines = dict.fromkeys(comparison.baseline for comparison in sheet.comparisons)
        marks.append(
            f"{BETTER} {WORSE} significantly better or worse than {', '.join(baselines)} "
            f"(p < {LEVEL}, paired bootstrap, {sheet.samples} resamples, seed {sheet.seed})"
        )
    if best and len(sheet.systems) > 1:
        marks.append(f"{best}: the best score, unless it is a mean that lacks directions")
        marks.append("↑ ↓ higher or lower is better")
    return [f"Marks: {'; '.join(marks)}."] if marks else []


def remarks(sheet: ScoreSheet) -> list[str]:
    """The sheet's notes, correlations, and means that do not cover all directions of a group."""
    return [*sheet.notes, *_correlations(sheet), *_incomplete_means(sheet)]


def _correlations(sheet: ScoreSheet) -> Iterator[str]:
    for system in sheet.systems:
        correlations = system.correlations
        group = next(
            (name for name in ("zero-shot", "all", *sheet.groups) if name in correlations), None
        )
        if group is not None:
            yield (
                f"{system.name}: Pearson's correlation between language accuracy and BLEU over "
                f"directions ({group_label(sheet, group)}) is {correlations[group]:.2f}."
            )


def _incomplete_means(sheet: ScoreSheet) -> Iterator[str]:
    for system in sheet.systems:
        lacking: dict[str, list[str]] = {}
        for metric in measured_metrics(sheet):
            have = {row.direction for row in system.directions if metric in row.scores}
            counts = [
                f"{len(have & set(members))} of {len(members)} ({group_label(sheet, group)})"
                for group, members in sheet.groups.items()
                if not have >= set(members)
            ]
            if have and counts:
                lacking.setdefault(", ".join(counts), []).append(METRICS[metric].name)
        for counts_of, names in lacking.items():
            yield f"{system.name}: means of {', '.join(names)} cover {counts_of} directions."


def missing(sheet: ScoreSheet) -> list[str]:
    """The metrics that are missing or incomplete, and why."""
    partly = measured_metrics(sheet)
    return [
        f"{METRICS[key].name} is {'partly ' * (key in partly)}missing: {why}"
        for key, why in sheet.missing.items()
    ]


def signatures(sheet: ScoreSheet) -> list[tuple[str, str]]:
    """The name and signature of every metric, for every signature in use."""
    return [(_name(key), text) for key, texts in sheet.signatures.items() for text in texts]


def _name(key: str) -> str:
    return METRICS[key].name if key in METRICS else key


def results(sheet: ScoreSheet) -> list[str]:
    """Failures, missing metrics, remarks and signatures."""
    return [
        *(f"Not scored: {failure}" for failure in sheet.failures),
        *missing(sheet),
        *remarks(sheet),
        *(f"{name}: {text}" for name, text in signatures(sheet)),
    ]


def origins(sheet: ScoreSheet) -> list[str]:
    """The provenance of each system's hypotheses, and of the scores, as JSON."""
    systems = [(system.name, system.provenance) for system in sheet.systems]
    written = [*systems, ("scores", sheet.made_by)]
    return [f"{name}: {json.dumps(how, ensure_ascii=False)}" for name, how in written if how]
