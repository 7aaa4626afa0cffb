"""Which of torch's kernels may compute an attention.

Shapes: B sentences, H heads, T queries, L keys and values, E head width.
"""

from types import TracebackType

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

OTHERS = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)


class CudnnOff:
    """A context in which torch does not take cuDNN's attention; kernels left are the caller's.

    torch's switch is the process's, so it is put back however the block ends. torch's own context,
    ``sdpa_kernel``, costs twenty times as much (24 instead of 1.3 microseconds on a CPU), which a
    GPU would wait for at every attention, and it switches kernels on again that a caller had
    switched off.
    """

    def __enter__(self) -> None:
        self._before = torch.backends.cuda.cudnn_sdp_enabled()
        torch.backends.cuda.enable_cudnn_sdp(False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        torch.backends.cuda.enable_cudnn_sdp(self._before)


def any_kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Scaled dot-product attention by whatever kernel torch chooses.

    Args:
        query: (B, H, T, E).
        key: (B, H, L, E).
        value: (B, H, L, E).
        mask: boolean, broadcastable to (B, H, T, L), true where a query may look; or torch's
            description of such a mask; None where all is seen.
        dropout: rate on the attention weights.

    Returns:
        (B, H, T, E).
    """
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def kernel_without_plan(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """As :func:`any_kernel`, but never by cuDNN's, which makes a plan for every batch shape."""
    # a compiler follows no switch, but torch's own context
    without = sdpa_kernel([*OTHERS]) if torch.compiler.is_compiling() else CudnnOff()
    with without:
        return any_kernel(query, key, value, mask, dropout)
