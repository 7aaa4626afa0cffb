"""What stands around a sublayer: norm, dropout and the residual connection."""

from torch import Tensor, nn

from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


class Residual(nn.Module):
    """A sublayer is called between ``before`` and ``after``; subclasses say where the norm is.

    Both take the language of each position, broadcastable to (...), which some norms want.
    """

    def __init__(self, norm: nn.Module, dropout: PlainDropout) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = dropout

    def before(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """What the sublayer reads, (..., D)."""
        raise TypeError(f"{type(self).__name__} has no place for its norm; use a subclass")

    def after(self, x: Tensor, output: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        """The stream ``x`` with the sublayer's ``output`` added, (..., D)."""
        raise TypeError(f"{type(self).__name__} has no place for its norm; use a subclass")


class PostNormResidual(Residual):
    """norm(x + dropout(f(x))) (Vaswani et al., 2017)."""

    def before(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        return x

    def after(self, x: Tensor, output: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        normed: Tensor = self.norm(x + self.dropout(output), context)
        return normed


class PreNormResidual(Residual):
    """x + dropout(f(norm(x)))."""

    def before(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        normed: Tensor = self.norm(x, context)
        return normed

    def after(self, x: Tensor, output: Tensor, context: TokenContext = NO_CONTEXT) -> Tensor:
        added: Tensor = x + self.dropout(output)
        return added
