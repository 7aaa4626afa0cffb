"""Label-smoothed cross-entropy with its gradient in closed form.

Autograd's way through log-softmax, gather and sum passes some ten times over the logits and keeps
several copies of them; the gradient is simply ``softmax - q``, q being the smoothed target.
Shapes: N tokens, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS = 256  # tokens at a time, so that a block of logits stays near the cache


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, smoothing: float, padding_idx: int
    ) -> tuple[Tensor, Tensor]:
        vocabulary = logits.size(1)
        other = smoothing / (vocabulary - 1)
        real = target.ne(padding_idx)
        dtype = torch.promote_types(logits.dtype, torch.float32)
        blocks = (block.to(dtype) for block in logits.split(ROWS))
        sums = [(block.logsumexp(1), block.sum(1)) for block in blocks]
        normalizer, total = (torch.cat(parts) for parts in zip(*sums, strict=True))
        chosen = logits.gather(1, target[:, None])[:, 0].to(dtype)
        nll = (normalizer - chosen) * real
        smooth = (vocabulary * normalizer - total) * real
        ctx.save_for_backward(logits, target, normalizer, real)
        ctx.other, ctx.peak = other, 1 - smoothing - other
        ctx.mark_non_differentiable(nll)
        ctx.set_materialize_grads(False)
        return ctx.peak * nll + other * smooth, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        if upstream[0] is None:
            return None, None, None, None
        logits, target, normalizer, real = ctx.saved_tensors
        scale = upstream[0] * real
        gradient = torch.empty_like(logits)
        for start in range(0, len(target), ROWS):
            block = slice(start, start + ROWS)
            # the coefficients of a row's logits in the loss add up to nothing, so that the
            # normalizer has weight 1: softmax - other everywhere, less the peak at the target
            # in place where the types agree: a copy of the logits' size is time
            part = gradient[block].to(normalizer.dtype)
            torch.sub(logits[block], normalizer[block, None], out=part)
            part.exp_().sub_(ctx.other).mul_(scale[block, None])
            part.scatter_add_(1, target[block, None], -(ctx.peak * scale[block])[:, None])
            if part.dtype != gradient.dtype:
                gradient[block] = part
        return gradient, None, None, None


def smoothed_cross_entropy(
    logits: Tensor, target: Tensor, smoothing: float, padding_idx: int
) -> tuple[Tensor, Tensor]:
    """Label-smoothed loss and negative log-likelihood of each token, zero at padding.

    The target has probability 1 - smoothing, every other entry smoothing / (V - 1), as fairseq's
    ``label_smoothed_nll_loss`` has it. Computed in at least single precision.

    Args:
        logits: (N, V).
        target: (N,).
        smoothing: epsilon.
        padding_idx: the padding symbol.

    Returns:
        the loss (N,), which has a gradient, and the likelihood (N,), which has none; in nats.
    """
    loss, nll = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        logits, target, smoothing, padding_idx
    )
    return loss, nll
