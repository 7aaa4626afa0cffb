"""The token-level position disentangle module (TPDM; Chen et al., 2023, section 3.3).

Shapes: B sentences, S source, D model width, n tokens of all sources.
"""

from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.packed_batch import PackedBatch, Segment
from tdo_plugin.modules.source_part import SourcePart
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

CAPTURED = ("semantic", "positional", "gate")  # names of the tensors that losses can request


class Head(nn.Module):
    """A two-layer MLP of the model's width, without dropout (equations 4 and 5).

    Args:
        inner: the first layer.
        norm: after it, before the ReLU.
        outer: the second layer.
        output_norm: after the second layer, if any.
    """

    def __init__(
        self, inner: Linear, norm: nn.Module, outer: Linear, output_norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.inner = inner
        self.norm = norm
        self.outer = outer
        self.output_norm = output_norm

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., width of the second layer)."""
        output: Tensor = self.outer(F.relu(self.norm(self.inner(x), context)))
        return output if self.output_norm is None else self.output_norm(output, context)


class Gate(nn.Module):
    """A two-layer MLP: the logit of each token being disentangled (GTPDM, section 3.5)."""

    def __init__(self, inner: Linear, outer: Linear) -> None:
        super().__init__()
        self.inner = inner
        self.outer = outer

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (...)."""
        logits: Tensor = self.outer(F.relu(self.inner(x)))
        return logits[..., 0]


class Disentangler(SourcePart):
    """Two heads without shared weights; the layer continues with the semantic one only.

    Losses can request ``semantic``, h (B, S, D), which the next sublayer reads; ``positional``,
    p (B, S, D), which only losses read; and, with a gate, ``gate``, the logits (B, S) of tokens
    being disentangled. The last two are computed only on request.

    Args:
        semantic: M_h.
        positional: M_p.
        gate: of GTPDM, if used.
    """

    def __init__(self, semantic: Head, positional: Head, gate: Gate | None = None) -> None:
        super().__init__()
        self.semantic = semantic
        self.positional = positional
        self.gate = gate

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        embedded: Tensor = self.semantic(x, context)
        return embedded

    def sources(self, x: Tensor, batch: PackedBatch, context: TokenContext) -> Tensor:
        semantic: Tensor = self(x, context)
        begin = 0
        for segment in batch.segments:
            end = begin + segment.sentences * segment.source_length
            part = slice(begin, end)
            self._capture(segment, x[part], semantic[part], context[part])
            begin = end
        return semantic

    def _capture(
        self, segment: Segment, x: Tensor, semantic: Tensor, context: TokenContext
    ) -> None:
        """Store the requested tensors of one segment's sources, (B * S, D)."""
        segment.capture("semantic", lambda: semantic)
        segment.capture("positional", lambda: self.positional(x, context))
        if self.gate is not None:
            segment.capture("gate", partial(self.gate, x))
