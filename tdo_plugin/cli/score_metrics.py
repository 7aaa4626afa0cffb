"""The metrics and the language detector of `tdo score` and `tdo compare`, by their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tdo_compat.errors import did_you_mean
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import languages_of
from tdo_plugin.evaluation.protocols import Protocol, protocol
from tdo_plugin.evaluation.score_sheet import METRICS

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.scoring import NeuralMetric
    from tdo_plugin.evaluation.systems import SystemTexts
    from tdo_plugin.metrics.language_id import Identifier


def chosen_metrics(requested: str | None, chosen: Protocol) -> tuple[str, ...]:
    """The keys of `--metrics`, or the protocol's.

    Raises:
        UserError: one is no metric.
    """
    if requested is None:
        return chosen.metrics
    names = tuple(METRICS) if requested == "all" else tuple(requested.split(","))
    for name in names:
        if name not in METRICS:
            guess = did_you_mean(name, METRICS)
            raise UserError(
                f"`--metrics` must be all or of {', '.join(METRICS)}; it has {name}{guess}"
            )
    return names


def find_detector(
    args: argparse.Namespace, data: DataFolder | None, systems: list[SystemTexts]
) -> tuple[Identifier | None, str]:
    """The detector that was asked for, the protocol's, or the best that is here; and what to say.

    Without one that was asked for, lid.176; without that a classifier learnt from the training
    text, unless a protocol wants what its paper used.

    Raises:
        UserError: one that was asked for is not to be had.
    """
    from tdo_plugin.metrics.language_id import identifier

    references: dict[str, list[str]] = {}
    for system in systems:
        for direction, texts in system.texts.items():
            references.setdefault(languages_of(direction)[1], []).extend(texts.references)
    detector = args.lid or protocol(args.protocol).detector
    try:
        return identifier(detector, data, references, args.download), ""
    except UserError as error:
        if args.lid or args.download:
            raise
        reason = str(error)
    if data is None or args.protocol:
        return None, f"No off-target share: {reason}"
    return (
        identifier("corpus", data),
        "Languages are told apart by a classifier learnt from the training text, "
        "since fastText's lid.176 is not on this machine.",
    )


def neural_metrics(
    args: argparse.Namespace, metrics: Iterable[str]
) -> dict[str, Callable[[], NeuralMetric]]:
    """Makers of the neural metrics that are wanted; nothing heavy is imported before they run."""

    def bertscore() -> NeuralMetric:
        from tdo_plugin.metrics.bertscore import BertScore
        from tdo_plugin.metrics.cache import Cache, default_cache_path

        cache = Cache(args.cache or default_cache_path())
        return BertScore(args.bertscore_model, args.bertscore_layer, args.download, cache)

    def comet() -> NeuralMetric:
        from tdo_plugin.metrics.cache import Cache, default_cache_path
        from tdo_plugin.metrics.comet import Comet

        return Comet(args.comet_model, args.download, Cache(args.cache or default_cache_path()))

    makers: dict[str, Callable[[], NeuralMetric]] = {"bertscore": bertscore, "comet": comet}
    return {key: make for key, make in makers.items() if key in metrics}
