"""An explained translation as JSON, rounded to what the page shows.

Attention weights are bytes in base64, in units of 1/255, as text would take three times the space.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.serve.explained_translation import ExplainedTranslation

UNIT = 255
MOST_WEIGHTS = 4_000_000  # of one explanation; above, the mean over heads takes their place
DIGITS = 4


def explanation_json(
    explained: ExplainedTranslation, most_weights: int = MOST_WEIGHTS
) -> dict[str, Any]:
    """The JSON object of a translation, without its languages and model.

    Args:
        explained: the translation.
        most_weights: with more attention weights than this, keep only their mean over heads.
    """
    weights = explained.weights
    sizes = [layer.weights.numel() for layer in weights.source]
    sizes += [layer.source.numel() + layer.target.numel() for layer in weights.target]
    mean_of_heads = sum(sizes) > most_weights

    def matrix(tensor: Tensor) -> dict[str, Any]:
        return _matrix(tensor.mean(0, keepdim=True) if mean_of_heads else tensor)

    return {
        "source_pieces": list(explained.source),
        "target_pieces": list(explained.target),
        "begin": explained.begin,
        "score": round(explained.hypothesis.score, DIGITS),
        "translation": explained.hypothesis.text,
        "source_attention": [
            {"layer": layer.layer, "source": matrix(layer.weights)} for layer in weights.source
        ],
        "target_attention": [
            {
                **{"layer": layer.layer, "kind": layer.kind},
                **{"source": matrix(layer.source), "target": matrix(layer.target)},
            }
            for layer in weights.target
        ],
        "steps": [
            {
                "probability": round(step.probability, DIGITS),
                "rank": step.rank,
                "top": [
                    [explained.symbols[token], round(probability, DIGITS)]
                    for token, probability in step.top
                ],
            }
            for step in explained.steps
        ],
        "preference": [
            {
                "layer": layer.layer,
                "similarity_to_source": _number(layer.rho_source),
                "similarity_to_target": _number(layer.rho_target),
                "score": _number(layer.score),
            }
            for layer in explained.preference
        ],
        "no_preference": explained.no_preference,
    }


def _matrix(weights: Tensor) -> dict[str, Any]:
    units = (weights * UNIT).round().to(torch.uint8).cpu().contiguous()
    data = base64.b64encode(units.numpy().tobytes()).decode("ascii")
    return {"shape": list(units.shape), "units": data}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, DIGITS)
