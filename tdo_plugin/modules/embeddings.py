"""Token embeddings and output projection; a shared matrix is registered once."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tdo_plugin.modules.linear import Product, lean_product, packed_product


class Embeddings(nn.Module):
    """Up to three matrices: source embedding, target embedding and output projection.

    Args:
        source: (V_source, D).
        target: (V_target, D); None if the target uses the source's matrix.
        output: D to V_target; None if it is the transposed target embedding.
        masked: number of entries at the end of the target vocabulary that are never predicted.
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
        """The target embedding, (V_target, D)."""
        return self.source.weight if self.target is None else self.target.weight

    @property
    def output_weight(self) -> Tensor:
        """The output projection's matrix, (V_target - masked, D)."""
        weight = self.target_weight if self.output is None else self.output.weight
        return weight[: -self.masked] if self.masked else weight

    def vectors(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Source tokens (N,) and target tokens (M,) to (N, D) and (M, D).

        Each look-up has a gradient as large as the whole matrix, so a shared matrix is looked up
        once.
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
        """Convert the output weight to the layout for decoding."""
        self._product = packed_product(self.output_weight)

    def use_product(self, product: Product) -> None:
        """Compute logits with another product of the output weight."""
        self._product = product

    def unpack(self) -> None:
        """Free the memory of the decoding layout."""
        self._product = lean_product
