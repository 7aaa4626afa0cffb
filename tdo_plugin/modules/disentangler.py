"""The token-level position disentangle module (TPDM; Chen et al., 2023, section 3.3).

Shapes: B sentences, S source, D model width, n positions of all sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.languages import Languages
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.source_part import SourcePart

if TYPE_CHECKING:
    from tdo_plugin.modules.layer import Stream


class Disentangled(NamedTuple):
    """What the module makes of a source.

    Attributes:
        semantic: h (B, S, D), which the layer goes on with.
        positional: p (B, S, D), which losses alone read.
        gate: logits (B, S) of tokens being disentangled; None where all are.
    """

    semantic: Tensor
    positional: Tensor
    gate: Tensor | None

    def select(self, sentences: Tensor) -> Disentangled:
        """Of some sentences, by index (B',)."""
        gate = None if self.gate is None else self.gate.index_select(0, sentences)
        semantic, positional = (part.index_select(0, sentences) for part in self[:2])
        return Disentangled(semantic, positional, gate)


class Head(nn.Module):
    """A two-layer MLP of the model's width, without dropout (equations 4 and 5).

    Args:
        inner: the first layer.
        norm: after it, before the ReLU.
        outer: the second layer.
        output_norm: after that, if any.
    """

    def __init__(
        self, inner: Linear, norm: nn.Module, outer: Linear, output_norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.inner = inner
        self.norm = norm
        self.outer = outer
        self.output_norm = output_norm

    def forward(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """(..., D) to (..., width of the second layer)."""
        output: Tensor = self.outer(F.relu(self.norm(self.inner(x), languages)))
        return output if self.output_norm is None else self.output_norm(output, languages)


class Gate(nn.Module):
    """A two-layer MLP from a token to the logit of its being disentangled (GTPDM, section 3.5)."""

    def __init__(self, inner: Linear, outer: Linear) -> None:
        super().__init__()
        self.inner = inner
        self.outer = outer

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (...)."""
        logits: Tensor = self.outer(F.relu(self.inner(x)))
        return logits[..., 0]


class Disentangler(SourcePart):
    """Two heads that share no weights: what a token means goes on, where it stands does not.

    Positional embeddings and gates are computed for sources whose losses ask for them alone.

    Args:
        semantic: M_h.
        positional: M_p.
        gate: where there is one.
    """

    def __init__(self, semantic: Head, positional: Head, gate: Gate | None = None) -> None:
        super().__init__()
        self.semantic = semantic
        self.positional = positional
        self.gate = gate

    def source(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        embedded: Tensor = self.semantic(x, languages)
        return embedded

    def among(self, x: Tensor, streams: Sequence[Stream], languages: Languages | None) -> Tensor:
        semantic = self.source(x, languages)
        begin = 0
        for one in streams:
            shape = one.shape[0], one.source_length
            own = slice(begin, begin := begin + shape[0] * shape[1])
            if one.wants_disentangled:
                known = None if languages is None else languages[own]
                gate = None if self.gate is None else self.gate(x[own]).view(shape)
                positional = self.positional(x[own], known).view(*shape, x.size(1))
                found = Disentangled(semantic[own].view(*shape, x.size(1)), positional, gate)
                one.keep_disentangled(found)
        return semantic
