"""Parts of a layer that change source tokens alone; targets pass unchanged.

Shapes: D model width, N tokens of a packed batch, n those of its sources.
"""

from torch import Tensor, nn

from tdo_plugin.modules.packed_batch import PackedBatch
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class SourcePart(nn.Module):
    """Applied to the source tokens of a packed batch."""

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """Source tokens, (..., D) to (..., D).

        Args:
            x: the tokens.
            context: of them, broadcastable to (...).
        """
        raise TypeError(f"{type(self).__name__} does nothing; use a subclass")

    def packed(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """All tokens of a packed batch, (N, D) to (N, D)."""
        places = batch.source_places()
        if places is None:
            return self.sources(x, batch, batch.context)
        context = batch.context.index_select(0, places)
        changed = self.sources(x.index_select(0, places), batch, context)
        return x.index_copy(0, places, changed)

    def sources(self, x: Tensor, batch: PackedBatch, context: TokenContext) -> Tensor:
        """The source tokens of a packed batch, (n, D) to (n, D)."""
        changed: Tensor = self(x, context)
        return changed
