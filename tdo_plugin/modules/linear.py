"""Linear projections whose weights can be laid out for decoding on a CPU.

A step of decoding has few rows, so that a matrix product spends much of its time on bringing the
weight into the order that its kernel wants. A weight that no longer changes is brought into it
once.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def packed_product(weight: Tensor) -> Product:
    """``F.linear`` with this weight, from oneDNN's own layout of it where there is one.

    There is one for single precision on a CPU, if torch was built with oneDNN. Where gradients
    are wanted it is not used.
    """
    single = weight.device.type == "cpu" and weight.dtype == torch.float32
    if not (single and torch.backends.mkldnn.is_available()):
        return F.linear
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach())

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if torch.is_grad_enabled() or x.dtype != torch.float32:
            return F.linear(x, weight, bias)
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
        return result

    return product


class Linear(nn.Linear):
    """As ``nn.Linear``. After :meth:`pack` the weight must not change."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self._product: Product = F.linear

    def forward(self, x: Tensor) -> Tensor:
        return self._product(x, self.weight, self.bias)

    def pack(self) -> None:
        """Lay the weight out for decoding."""
        self._product = packed_product(self.weight)
