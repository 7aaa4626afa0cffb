"""Depth-scaled initialisation (DS-Init): the deeper a layer, the smaller its weights start."""

import math

from torch import nn

from tdo_plugin.modules.layer import TargetLayer
from tdo_plugin.modules.linear import Linear

# Query, key and value of self-attention are one matrix (D, 3 D) in the authors' code, as they start
# in fairseq; in cross-attention and merged attention each stands alone.
PACKED = frozenset(f"attention.{name}" for name in ("query", "key", "value"))


def start_at_depth(layer: TargetLayer, depth: int, power: float) -> None:
    """Draw every weight matrix of a layer from U(-g / l^power, g / l^power).

    g = sqrt(6 / (inputs + outputs)), l the depth; with a power of 1/2 it is the formula of Zhang,
    Titov and Sennrich (2019) with alpha = 1. Norms and biases stay as they are.

    Args:
        layer: freshly built.
        depth: from 1, counted in the encoder or decoder, or over all layers of the only stack.
        power: of the depth.
    """
    for name, part in layer.named_modules():
        if isinstance(part, Linear):
            outputs = part.out_features * (3 if name in PACKED else 1)
            limit = math.sqrt(6 / (part.in_features + outputs)) / depth**power
            nn.init.uniform_(part.weight, -limit, limit)
