"""Matrix products in fp16 on a CPU as tensor cores compute them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
PRODUCTS = (aten.mm, aten.addmm, aten.bmm, aten.baddbmm)


class SingleSums(TorchDispatchMode):
    """Sums products of fp16 matrices in single precision, and rounds the results once.

    Context manager, for forward and backward pass. torch's own kernels for fp16 on a CPU take up to
    150 times as long as those for fp32, and round differently for each layout. bf16 has good ones.
    """

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        options = dict(kwargs or {})
        if func.overloadpacket not in PRODUCTS or not _is_slow(args[-1]):
            return func(*args, **options)
        out = options.pop("out", None)
        product: Callable[..., Tensor] = func.overloadpacket
        rounded = product(*(part.float() for part in args), **options).half()
        return rounded if out is None else out.copy_(rounded)


def _is_slow(matrix: Tensor) -> bool:
    return matrix.dtype == torch.float16 and matrix.device.type == "cpu"
