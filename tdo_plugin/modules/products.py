"""The matrix products of linear projections, by the faster of torch's libraries on a CPU.

torch computes products in single precision with MKL, which uses AVX-512 only on Intel's processors.
On others that have it (AMD's since Zen 4), oneDNN, which is in torch, too, is about twice as fast.
The results are equal up to rounding. ``torch.backends.mkldnn.enabled = False`` returns to MKL.

Shapes: (...) rows, D and E widths.
"""

import functools
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]

MIN_MULTIPLICATIONS = 1 << 26  # fewer do not repay oneDNN's preparation for a new shape


def product_for(x: Tensor, outputs: int, dtype: torch.dtype) -> Product:
    """``F.linear``, or oneDNN's if it is faster for these shapes.

    The products of the backward pass have as many multiplications, so it is faster for them, too.

    Args:
        x: the input, (..., D).
        outputs: E.
        dtype: of the weight, (E, D).
    """
    single = x.device.type == "cpu" and x.dtype == dtype == torch.float32
    large = single and x.numel() * outputs >= MIN_MULTIPLICATIONS
    return _onednn if large and mkl_is_narrow() and torch.backends.mkldnn.enabled else F.linear


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if not (weight.is_contiguous() or weight.T.is_contiguous()):
        weight = weight.contiguous()  # oneDNN has no fast code for rows with gaps
    product: Tensor = torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, "none", [], "")
    return product


@functools.cache
def mkl_is_narrow() -> bool:
    """Whether MKL leaves half of this processor's vector width unused and oneDNN does not."""
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    info = Path("/proc/cpuinfo")
    return libraries and wide and info.exists() and "GenuineIntel" not in info.read_text()
