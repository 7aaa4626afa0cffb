"""Tokens that enter a segment of a packed batch, and tokens requested from its last layer.

Shapes: B sentences, T tokens of each, L keys and values, D model width, H heads, E head width.
"""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.masks import TargetMask
from tdo_plugin.modules.token_context import TokenContext


class EmbeddedTarget(NamedTuple):
    """A target, or its first symbol alone, to be appended to its source."""

    x: Tensor  # (B, T, D)
    mask: TargetMask
    context: TokenContext  # of its tokens, (B, 1) or (B, T)
    visible_target: Tensor | None = None  # which of its first P positions the source sees
    keys_only: bool = False  # whether only the source reads it, so that no output is needed


@dataclass(frozen=True)
class LastQueries:
    """Tokens whose output of a segment's last layer is needed, and the keys they see there."""

    x: Tensor  # the layer's input at these tokens, (B, T, D)
    kv: KeyValue  # (B, H, L, E)
    mask: Tensor | None  # broadcastable to (B, H, T, L)
    context: TokenContext  # broadcastable to (B, T)
    of_source: bool = False
    place: int | None = None  # index in the request's token states; None: the target
