"""The metrics and the language detector of `tdo score` and `tdo compare`, from their options."""

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
    """The metric keys in `--metrics`, or the protocol's.

    Raises:
        UserError: an unknown metric.
    """
    if requested is None:
        return chosen.metrics
    names = tuple(METRICS) if requested == "all" else tuple(requested.split(","))
    for name in names:
        if name not in METRICS:
            guess = did_you_mean(name, METRICS)
            raise UserError(
                f"`--metrics` must be all or among {', '.join(METRICS)}; it has {name}{guess}"
            )
    return names


def find_detector(
    args: argparse.Namespace, data: DataFolder | None, systems: list[SystemTexts]
) -> tuple[Identifier | None, str]:
    """The language detector, or None, and a remark for the user.

    The requested or the protocol's detector; by default lid.176, or a classifier trained on the
    training text if lid.176 is not installed and no protocol is given.

    Raises:
        UserError: a requested detector is not available.
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
        return None, f"No off-target rate: {reason}"
    return (
        identifier("corpus", data),
        "Languages are identified by a classifier trained on the training text, since fastText's "
        "lid.176 is not installed.",
    )


def neural_metrics(
    args: argparse.Namespace, metrics: Iterable[str]
) -> dict[str, Callable[[], NeuralMetric]]:
    """Factories of the requested neural metrics, which import heavy packages only when called."""

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
