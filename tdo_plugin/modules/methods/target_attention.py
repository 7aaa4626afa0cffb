"""Attention projections with weights for each target language.

Shapes: K languages, (...) positions, D and E widths.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.grouped_linear import PerLanguage, grouped
from tdo_plugin.modules.linear import Projection, split_outputs
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class TargetProjection(PerLanguage, Projection):
    """W_t x + b_t for target language t (target-specific attention; Blackwood et al., 2018).

    The weights of languages are drawn independently, each like a plain projection's.

    Args:
        num_languages: K.
        in_features: D.
        out_features: E.
        gain: of the Xavier-uniform initialisation.
    """

    def __init__(
        self, num_languages: int, in_features: int, out_features: int, gain: float = 1.0
    ) -> None:
        super().__init__(in_features, out_features)
        self.weight = nn.Parameter(torch.empty(num_languages, out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(num_languages, out_features))
        with torch.no_grad():
            for matrix in self.weight:
                nn.init.xavier_uniform_(matrix, gain=gain)

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., E); the language of each position is broadcastable to (...).

        Raises:
            ValueError: the context has no target languages.
        """
        (projected,) = project_for_targets(x, context, self)
        return projected

    def pack(self) -> None:
        """Does nothing: a decoding step may use the weight of any language."""


def project_for_targets(x: Tensor, context: TokenContext, *projections: Projection) -> list[Tensor]:
    """Several target projections of ``x`` (..., D), with one grouping of the positions.

    Raises:
        ValueError: the context has no target languages.
    """
    if context.target is None:
        raise ValueError("target-specific attention needs the language of every sentence")
    parameters = [parameter for part in projections for parameter in (part.weight, part.bias)]
    projected = grouped(x, context.rows("target"), _projected, *parameters)
    return split_outputs(projected, context, projections)


def _projected(x: Tensor, *parameters: Tensor) -> Tensor:
    """Concatenated outputs, given weight and bias of each projection in turn."""
    pairs = zip(parameters[::2], parameters[1::2], strict=True)
    outputs = [F.linear(x, weight, bias) for weight, bias in pairs]
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)
