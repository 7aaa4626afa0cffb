"""MNMT-RC: one layer without the residual connection around its attention (Liu et al., 2021)."""

import torch
from torch import Tensor

from tdo_plugin.modules.source_part import SourcePart
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class Cut(SourcePart):
    """A residual connection that is zero at source positions (Liu et al., 2021)."""

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        return torch.zeros_like(x)
