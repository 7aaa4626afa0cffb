"""Parts of a layer that change only source tokens; target tokens pass unchanged.

Shapes: D model width, N tokens of a packed batch, n of these in sources.
"""

import torch
from torch import Tensor, nn

from tdo_plugin.modules.packed_batch import PackedBatch
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class SourcePart(nn.Module):
    """Applied to the source tokens of a packed batch."""

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """Source tokens, (..., D) to (..., D).

        Args:
            x: the tokens.
            context: of the tokens, broadcastable to (...).
        """
        raise TypeError(f"{type(self).__name__} does nothing; use a subclass")

    def packed(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """All tokens of a packed batch, (N, D) to (N, D)."""
        places = _source_places(batch)
        if places is None:
            return self.sources(x, batch, batch.context)
        context = batch.context.alike(places)
        changed = self.sources(x.index_select(0, places), batch, context)
        return x.index_copy(0, places, changed)

    def sources(self, x: Tensor, batch: PackedBatch, context: TokenContext) -> Tensor:
        """The source tokens of a packed batch, (n, D) to (n, D)."""
        changed: Tensor = self(x, context)
        return changed


def _source_places(batch: PackedBatch) -> Tensor | None:
    """Indices (n,) of all source tokens; None if all tokens are source tokens."""
    if all(segment.target is None for segment in batch.segments):
        return None
    sizes = [sentences * length for sentences, length in batch.shapes]
    places = torch.arange(sum(sizes), device=batch.x.device).split(sizes)
    parts = zip(batch.segments, places, batch.shapes, strict=True)
    return torch.cat(
        [segment.split(part.view(shape))[0].flatten() for segment, part, shape in parts]
    )
