"""Token embeddings and the output projection, each matrix registered once however it is shared."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.linear import Product, lean_product, packed_product


class Embeddings(nn.Module):
    """Up to three matrices: of source tokens, of target tokens, and of the output.

    Args:
        source: (V_source, D).
        target: (V_target, D); None where source and target share one.
        output: D to V_target; None where it is the target's matrix transposed.
        masked: so many last entries of the target's vocabulary are never predicted.
    """

    def __init__(
        self,
        source: nn.Embedding,
        target: nn.Embedding | None,
        output: nn.Linear | None,
        masked: int = 0,
    ) -> None:
        super().__init__()
        self.source = source
        self.target = target
        self.output = output
        self.masked = masked
        self._product: Product = lean_product

    @property
    def target_weight(self) -> Tensor:
        """The target's matrix, (V_target, D)."""
        return self.source.weight if self.target is None else self.target.weight

    @property
    def output_weight(self) -> Tensor:
        """The matrix that scores what may be predicted, (V_target - masked, D)."""
        weight = self.target_weight if self.output is None else self.output.weight
        return weight[: -self.masked] if self.masked else weight

    def vectors(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Source tokens (N,) and target tokens (M,) to (N, D) and (M, D).

        A look-up has a gradient of the whole vocabulary's size; there is one where both share
        their matrix.
        """
        if self.target is not None:
            return self.source_vectors(source), self.target_vectors(target)
        both = self.source_vectors(torch.cat([source, target]))
        of_source, of_target = both.split([len(source), len(target)])
        return of_source, of_target

    def source_vectors(self, tokens: Tensor) -> Tensor:
        """(..., S) to (..., S, D)."""
        vectors: Tensor = self.source(tokens)
        return vectors

    def target_vectors(self, tokens: Tensor) -> Tensor:
        """(..., T) to (..., T, D)."""
        return F.embedding(tokens, self.target_weight, self.source.padding_idx)

    def logits(self, features: Tensor) -> Tensor:
        """(..., D) to (..., V_target - masked)."""
        return self._product(features, self.output_weight, None)

    def pack(self) -> None:
        """Lay the output's weight out for decoding."""
        self._product = packed_product(self.output_weight)

    def unpack(self) -> None:
        """Give the room of that free."""
        self._product = lean_product
