"""How layers start: how their weight matrices are drawn, and which start as the identity."""

import math
from collections.abc import Callable
from functools import partial

from torch import nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.layer import FeedForward, TargetLayer
from tdo_plugin.modules.linear import Linear

# Query, key and value of self-attention are one matrix (D, 3 D) in the authors' code, as they start
# in fairseq; in cross-attention and merged attention each stands alone.
PACKED = frozenset(f"attention.{name}" for name in ("query", "key", "value"))


def depth_scaled_init_(layer: TargetLayer, depth: int, power: float) -> None:
    """Draw every weight matrix of a layer from U(-g / l^power, g / l^power) (DS-Init).

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


# given a layer and its depth from 1; without one, layers start as in fairseq
DRAWS: dict[str, Callable[[TargetLayer, int], None]] = {
    "depth-scaled": partial(depth_scaled_init_, power=1 / 2),
    # the authors' code scales the variance where the paper scales the limit
    "depth-scaled-quarter": partial(depth_scaled_init_, power=1 / 4),
}


def start_as_identity(part: nn.Module) -> None:
    """Set to zero what the sublayers within a part add to the residual stream.

    Of attention it is the output projection, of an FFN the second matrix, each with its bias, as in
    Fixup (Zhang, Dauphin and Ma, 2019). Then the part hands its input on (behind post-norm, its
    layer norm), and what stays of the usual start has gradients as soon as these matrices move.
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
