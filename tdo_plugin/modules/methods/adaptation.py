"""Adaptation modules (TDO): an FFN where the target enters, and one after the last layer."""

from torch import Tensor, nn

from tdo_plugin.modules.layer import FeedForward
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class Adaptation(nn.Module):
    """h + Dropout(FFN(h)), shared by all languages (Qu et al., section 4.1).

    Has no norm and no inner dropout, as in the authors' code.
    """

    def __init__(self, feed_forward: FeedForward, dropout: nn.Module) -> None:
        super().__init__()
        self.feed_forward = feed_forward
        self.dropout = dropout

    def forward(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """(..., D) to (..., D), the same for all languages."""
        adapted: Tensor = x + self.dropout(self.feed_forward(x, context))
        return adapted
