"""Model FLOPs utilisation: a system's FLOPs per second relative to its GPU's peak."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from speed import hardware
from speed.batches import Batch, target_tokens
from speed.measuring import Measurement
from speed.plan import STOCK, Setting
from speed.rows import Row


def rows(
    measurement: Measurement, batches: tuple[Batch, ...], facts: Mapping[str, Any]
) -> Iterator[Row]:
    """A row for each system trained on a GPU with a known peak.

    Only operations that the model requires are counted, regardless of the implementation: they are
    equal for `concatenating` and `two-stream`.

    Args:
        measurement: the comparison's measurement.
        batches: the batches of its runs.
        facts: facts about the machine.
    """
    comparison, setting = measurement.comparison, measurement.comparison.setting
    peak = hardware.peak(facts["hardware"], facts["precision"])
    if comparison.kind != "training" or facts["device"] != "cuda" or peak is None:
        return
    for system in comparison.systems:
        needed = flops_per_token(system, setting, batches)
        shares = [needed / cost / peak for cost in measurement.costs[system]]
        yield Row(
            system=system,
            baseline="nominal peak",
            metric=f"FLOPs utilisation, {comparison.metric}",
            title=f"FLOPs utilisation, {comparison.title}",
            ratio=statistics.median(shares),
            spread=(min(shares), max(shares)),
            settings={**comparison.settings(), "peak_flops": peak, **facts},
        )


def flops_per_token(system: str, setting: Setting, batches: tuple[Batch, ...]) -> float:
    """The operations of an update per target token."""
    from tdo_plugin.analysis.cost import FlopModel
    from tdo_plugin.criterions.instrucl import instrucl_layer
    from tdo_plugin.modules.spec import ModelSpec

    half = setting.depth // 2
    stock = {"topology": "encoder-decoder", "encoder_layers": half, "decoder_layers": half}
    two_stage = {"topology": "decoder-only", "num_layers": setting.depth, "target_layer": half}
    spec = ModelSpec(
        **(stock if system == STOCK else two_stage),
        model_dim=setting.model_dim,
        num_heads=setting.heads,
        stage1_ffn_dim=setting.ffn_dim,
        stage2_ffn_dim=setting.ffn_dim,
    )
    model = FlopModel(spec, setting.vocabulary + setting.languages)
    lengths = [sentence.lengths for batch in batches for sentence in batch]
    total = sum(model.training(*both).total for both in lengths)
    if setting.instrucl:
        layer = instrucl_layer(spec, None)
        total += sum(model.instrucl(*both, layer).total for both in lengths)
    return total / sum(map(target_tokens, batches))
