"""The language pairs that have rows of parameters in a model, in the order of the rows.

Shapes: B sentences, P pairs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LanguagePairs(nn.Module):
    """Looks up the row of a pair; pairs and their order are stored in every checkpoint.

    Args:
        languages: names, in the order of their indices.
        pairs: such as `de-en`, in the order of the rows.
    """

    pairs: Tensor

    def __init__(self, languages: Sequence[str], pairs: Sequence[str]) -> None:
        super().__init__()
        self.languages = tuple(languages)
        places = [
            [self.languages.index(language) for language in pair.split("-")] for pair in pairs
        ]
        self.register_buffer("pairs", torch.tensor(places))

    def forward(self, sources: Tensor, targets: Tensor) -> Tensor:
        """The row (B,) of each sentence's pair, given source and target languages (B,) from 0.

        Raises:
            LookupError: a pair has no row; the message is its name.
        """
        matches = (sources[:, None] == self.pairs[:, 0]) & (targets[:, None] == self.pairs[:, 1])
        matched = matches.any(1)
        if not bool(matched.all()):
            first = int(matched.int().argmin())
            raise LookupError(self.name(int(sources[first]), int(targets[first])))
        return matches.int().argmax(1)

    def name(self, source: int, target: int) -> str:
        """The name of a pair, such as `de-en`."""
        return f"{self.languages[source]}-{self.languages[target]}"

    def names(self, pairs: Tensor | None = None) -> list[str]:
        """The names of pairs (P, 2); None: of all pairs with rows."""
        return [self.name(*pair) for pair in (self.pairs if pairs is None else pairs).tolist()]
