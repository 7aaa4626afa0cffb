"""Scoring the systems of `tdo score` and `tdo compare` according to their options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import did_you_mean, tell
from tdo_plugin.cli.score_groups import groups_of
from tdo_plugin.cli.score_metrics import chosen_metrics, find_detector, neural_metrics
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.protocols import protocol
from tdo_plugin.evaluation.score_sheet import METRICS

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.score_sheet import ScoreSheet
    from tdo_plugin.evaluation.systems import SystemTexts


def data_of(args: argparse.Namespace) -> DataFolder | None:
    """The data folder that was decoded, if `--data` is given."""
    from tdo_plugin.data.databin import read_data_folder

    return read_data_folder(args.data.resolve()) if args.data else None


def score_systems(
    args: argparse.Namespace,
    systems: list[SystemTexts],
    data: DataFolder | None,
    failures: list[str],
    out: Path | None = None,
) -> ScoreSheet:
    """The score sheet of systems, by the options of `add_measures`.

    Args:
        args: the options.
        systems: the systems to score.
        data: the data folder that was decoded, if known.
        failures: messages about files that could not be read; extended with directions that
            cannot be compared.
        out: a folder to create before the long computation.

    Raises:
        UserError: options that contradict each other or do not match the systems.
    """
    from tdo_plugin.evaluation.measuring import TEXT_METRICS, Plan
    from tdo_plugin.evaluation.scoring import Settings, score
    from tdo_plugin.evaluation.systems import in_order, same_references
    from tdo_plugin.launch.environment import cores

    systems = same_references(systems, failures)
    directions = in_order(systems, data)
    if not directions:
        raise UserError(f"`NAME=DIR` must have something to score; {'; '.join(failures)}")
    chosen = protocol(args.protocol)
    metrics = chosen_metrics(args.metrics, chosen)
    detector, remark = find_detector(args, data, systems) if "off" in metrics else (None, "")
    if detector is None and not (
        args.metrics or args.protocol
    ):  # off-target rates are only a default
        metrics = tuple(key for key in metrics if key != "off")
    lacking = detector is None and "off" in metrics
    settings = Settings(
        metrics=metrics,
        plan=Plan(
            metrics=tuple(key for key in metrics if key in TEXT_METRICS),
            tokenizer=args.tokenizer or chosen.tokenizer,
            lowercase=_lowercase(args, systems, data),
            english="en",
            detector=detector,
        ),
        groups=groups_of(args, chosen, data, directions),
        baseline=_baseline(args.baseline, [system.name for system in systems]),
        skip_zeros=chosen.skip_zeros,
        pooled=chosen.pooled,
        samples=args.samples,
        examples=args.examples,
        protocol=args.protocol,
        workers=args.workers or cores(),
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    sheet = score(systems, directions, neural_metrics(args, metrics), settings, tell)
    return replace(
        sheet,
        failures=tuple(failures),
        missing={**({"off": remark} if lacking else {}), **sheet.missing},
        notes=(
            *([remark] if remark and not lacking else []),
            *_not_translated(args, data, directions),
            *sheet.notes,
        ),
    )


def _not_translated(
    args: argparse.Namespace, data: DataFolder | None, directions: Sequence[str]
) -> list[str]:
    """A note on test sets of which no system has translations."""
    if data is None or getattr(args, "directions", None):
        return []
    missing = [direction for direction in data.test_directions if direction not in directions]
    several = f"{', '.join(missing[:3])} and {len(missing) - 3} more"
    named = several if len(missing) > 4 else ", ".join(missing)
    return [f"No system has hypotheses for {named}, test sets of {data.root}."] if missing else []


def _lowercase(
    args: argparse.Namespace, systems: Sequence[SystemTexts], data: DataFolder | None
) -> bool:
    """Whether to ignore case: by the option, else if protocol, systems or data are lowercased."""
    from tdo_plugin.metrics.textform import read_text_form

    if args.lowercase is not None:
        return bool(args.lowercase)
    if protocol(args.protocol).lowercase or any(system.lowercased for system in systems):
        return True
    return data is not None and read_text_form(data.root).casing == "lowercased"


def _baseline(name: str | None, systems: Sequence[str]) -> str:
    """The system that others are compared with.

    Raises:
        UserError: the baseline is not among the scored systems.
    """
    if name and name not in systems:
        raise UserError(
            f"`--baseline` must be one of {', '.join(systems)}; it is {name}"
            f"{did_you_mean(name, systems)}"
        )
    return name or systems[0]


def tell_remarks(sheet: ScoreSheet) -> None:
    """Print failures, missing metrics and notes of a score sheet."""
    for line in sheet.failures:
        tell(f"error: {line}")
    for key, reason in sheet.missing.items():
        tell(f"{METRICS[key].name} is missing: {reason}")
    for note in sheet.notes:
        tell(f"note: {note}")
