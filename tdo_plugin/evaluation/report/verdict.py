"""A score sheet in words: which model is better where, whether it is usable, where it is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tdo_plugin.evaluation.groups import SUPERVISED, ZERO_SHOT
from tdo_plugin.evaluation.report.quantities import Quantity
from tdo_plugin.evaluation.report.report_tables import measured_metrics
from tdo_plugin.evaluation.report.table import number, p_value, significance
from tdo_plugin.evaluation.score_sheet import METRICS, Difference, ScoreSheet, SystemScores
from tdo_plugin.evaluation.seeds import over_seeds
from tdo_plugin.metrics.language_id.language_names import direction_name

UNDERTRAINED = 5.0  # a lower BLEU on trained directions says little about a model
MUCH_OFF_TARGET = 10.0  # percentage from which off-target translations are mentioned
NAMED_MODELS = 4  # maximum number of models whose files are named
# the usual reading of BLEU (Google Cloud Translation's documentation), by least BLEU
USE = (
    (50.0, "yes, very good translations"),
    (40.0, "yes, good translations"),
    (30.0, "yes, understandable to good translations"),
    (20.0, "for the gist, with many errors"),
    (10.0, "hardly, the gist is hard to get"),
    (0.0, "no"),
)


class Part(NamedTuple):
    """Directions that are judged together.

    Attributes:
        name: what they are called.
        size: their number.
        group: their group in the sheet.
        trained: whether the models were trained on them, as far as is known.
        scores: the scores of systems that cover all of them, best first.
    """

    name: str
    size: int
    group: str
    trained: bool
    scores: dict[str, float]


def recommended(sheet: ScoreSheet) -> str:
    """The system that a report opens on: the last, as a baseline is first."""
    return sheet.systems[-1].name if sheet.systems else ""


def verdict_lines(sheet: ScoreSheet) -> list[str]:
    """The verdict as lines of text."""
    return [
        f"{heading}{'' if heading.endswith('?') else ':'} {text}"
        for heading, text in verdict(sheet)
    ]


def verdict(sheet: ScoreSheet) -> list[tuple[str, str]]:
    """Headings with one or a few sentences each; empty without scores.

    Trained and zero-shot directions are judged separately, or all directions together if it is
    unknown which were trained, by mean BLEU (or the first metric) over seeds and directions.
    """
    measured = measured_metrics(sheet)
    if not measured:
        return []
    metric = "bleu" if "bleu" in measured else measured[0]
    whole = over_seeds(sheet)
    parts = [part for part in _parts(whole, metric) if part.scores]
    lines = [
        (
            f"{part.name} ({part.size})" if part.size > 1 else part.name,
            " ".join(_judgement(whole, part, metric)),
        )
        for part in parts
    ]
    if metric == "bleu" and parts:
        lines.append(("Usable?", _usable(parts)))
    if models := _models(sheet.systems):
        lines.append(("Models", models))
    return lines


def _parts(sheet: ScoreSheet, metric: str) -> Iterator[Part]:
    zero_shot = set(sheet.groups.get(ZERO_SHOT, ()))
    trained = set(sheet.groups.get(SUPERVISED, ()))
    if zero_shot and not trained:  # which are from or into the hub only
        trained = set(sheet.directions) - zero_shot
    known = bool(trained or zero_shot)
    for kind, members in (
        ("trained", trained),
        ("zero-shot", zero_shot),
        ("all", set() if known else set(sheet.directions)),
    ):
        group = next((name for name, rows in sheet.groups.items() if set(rows) == members), None)
        if not members or group is None:
            continue
        name = f"{kind.capitalize()} directions"
        if len(members) == 1:
            name = direction_name(*members) + (f" ({kind})" if known else "")
        scores = _ranked(sheet, Quantity(metric, group))
        yield Part(name, len(members), group, kind == "trained", scores)


def _ranked(sheet: ScoreSheet, quantity: Quantity) -> dict[str, float]:
    scores = {
        system.name: value
        for system, value, complete in zip(
            sheet.systems, quantity.values(sheet), quantity.complete(sheet), strict=True
        )
        if value is not None and complete
    }
    higher = METRICS[quantity.metric].higher_is_better
    return dict(sorted(scores.items(), key=lambda entry: entry[1], reverse=higher))


def _judgement(sheet: ScoreSheet, part: Part, key: str) -> Iterator[str]:
    """The best system, compared with the baseline, or if that is the best with the next."""
    metric, (best, *others) = METRICS[key], part.scores
    shown = {name: number(score, metric.digits) for name, score in part.scores.items()}
    if not others:
        yield f"{best} has {shown[best]} {metric.name}."
        return
    baselines = [comparison.baseline for comparison in sheet.comparisons]
    other = next((name for name in baselines if name in others), others[0])
    tested = _tested(sheet, best, other, key, part.group)
    by = number(abs(part.scores[best] - part.scores[other]), metric.digits)
    if shown[best] == shown[other]:
        yield f"{best} and {other} are equal: {shown[best]} {metric.name}."
    elif tested is not None and not significance(tested, metric):
        yield (
            f"No significant difference: {shown[best]} {metric.name} for {best} and {shown[other]} "
            f"for {other} ({_p(tested)})."
        )
    else:
        rank = f"the best of {len(shown)}, " if others[1:] else ""
        sure = f"significant ({_p(tested)})" if tested else "not tested for significance"
        yield (
            f"{best} is {rank}better by {by} than {other}: {shown[best]} {metric.name} against "
            f"{shown[other]}; {sure}."
        )
    off = {name: Quantity("off", part.group).of(sheet, name) for name in (best, other)}
    known = {name: share for name, share in off.items() if share is not None}
    if max(known.values(), default=0) >= MUCH_OFF_TARGET:
        shares = ", ".join(f"{name} {share:.0f} %" for name, share in known.items())
        yield f"Translations that are not in the target language: {shares}."


def _tested(sheet: ScoreSheet, best: str, other: str, metric: str, group: str) -> Difference | None:
    """The significance test between two systems, whichever of them is the baseline."""
    for names in ((best, other), (other, best)):
        comparison = sheet.comparison(*names, metric)
        if comparison and group in comparison.groups:
            return comparison.groups[group]
    return None


def _p(tested: Difference) -> str:
    text = p_value(tested.p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _usable(parts: Sequence[Part]) -> str:
    """What the best BLEU of each part usually means."""
    best = [(part, next(iter(part.scores.values()))) for part in parts]
    if any(part.trained and score < UNDERTRAINED for part, score in best):
        return (
            f"No: below {UNDERTRAINED:.0f} BLEU on trained directions the models are undertrained, "
            "and their differences say little. Train for more updates or hours, or on more text."
        )
    kinds = " ".join(f"{part.name}: {_use(score)} ({score:.1f} BLEU)." for part, score in best)
    return (
        f"{kinds} This is a rule of thumb: BLEU depends on the languages and the text, so read the "
        "examples."
    )


def _use(bleu: float) -> str:
    return next(words for least, words in USE if bleu >= least)


def _models(systems: Sequence[SystemScores]) -> str:
    """The checkpoints' folder and files, as recorded by `tdo translate`; empty if unknown."""
    paths = list(dict.fromkeys(path for system in systems for path in _paths(system.provenance)))
    if len(paths) < 2:
        return "".join(paths)
    try:
        folder = os.path.commonpath(paths)
    except ValueError:  # of different machines
        return ", ".join(paths)
    files = [os.path.relpath(path, folder) for path in paths]
    more = [f"{len(files) - NAMED_MODELS} more"] if len(files) > NAMED_MODELS else []
    return f"{folder}: {', '.join([*files[:NAMED_MODELS], *more])}"


def _paths(provenance: Any) -> Iterator[str]:
    """Paths of checkpoints; a system of several folders has a record for each of them."""
    if not isinstance(provenance, dict):
        return
    checkpoints = provenance.get("checkpoints")
    if not isinstance(checkpoints, list):
        for record in provenance.values():
            yield from _paths(record) if isinstance(record, dict) else ()
        return
    for checkpoint in checkpoints:
        if isinstance(checkpoint, dict) and isinstance(path := checkpoint.get("path"), str):
            yield path
