"""Initialisation of layers: how weight matrices are drawn, and which parts are the identity."""

import math
from collections.abc import Callable
from functools import partial

from torch import nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.layer import FeedForward, TargetLayer
from tdo_plugin.modules.linear import Linear

# Query, key and value of self-attention are initialised as one matrix (D, 3 D) in the authors' code
# and in fairseq; in cross-attention and merged attention each is a matrix of its own.
PACKED = frozenset(f"attention.{name}" for name in ("query", "key", "value"))


def depth_scaled_init_(layer: TargetLayer, depth: int, power: float) -> None:
    """Draw every weight matrix of a layer from U(-g / l^power, g / l^power) (DS-Init).

    g = sqrt(6 / (inputs + outputs)), l is the depth; power 1/2 is the formula of Zhang, Titov and
    Sennrich (2019) with alpha = 1. Norms and biases stay unchanged.

    Args:
        layer: freshly built.
        depth: from 1, counted in the encoder or decoder, or over all layers of a single stack.
        power: exponent of the depth.
    """
    for name, part in layer.named_modules():
        if isinstance(part, Linear):
            outputs = part.out_features * (3 if name in PACKED else 1)
            limit = math.sqrt(6 / (part.in_features + outputs)) / depth**power
            nn.init.uniform_(part.weight, -limit, limit)


# functions of a layer and its depth (from 1); a missing name means fairseq's initialisation
DRAWS: dict[str, Callable[[TargetLayer, int], None]] = {
    "depth-scaled": partial(depth_scaled_init_, power=1 / 2),
    # the authors' code divides the variance by the root where the paper divides the limit
    "depth-scaled-quarter": partial(depth_scaled_init_, power=1 / 4),
}


def start_as_identity(part: nn.Module) -> None:
    """Zero what the sublayers within a part add to the residual stream.

    In attention this is the output projection, in an FFN the second matrix, both with bias, as in
    Fixup (Zhang, Dauphin and Ma, 2019). The part then returns its input (post-norm: the layer norm
    of its input), and the other weights receive gradients as soon as these matrices change.
    """
    for module in part.modules():
        last: Linear | None = None
        if isinstance(module, MultiheadAttention):
            last = module.out
        elif isinstance(module, FeedForward):
            last = module.outer
        if last is not None:
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
