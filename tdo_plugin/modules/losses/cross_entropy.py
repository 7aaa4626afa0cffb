"""Label-smoothed cross-entropy with its gradient in closed form.

Through log-softmax, gather and sum, autograd passes over the logits some ten times and keeps
several copies of them; the gradient is simply ``softmax - q``, q being the smoothed target.
Shapes: N tokens, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS = 256  # tokens per block, so that a block of logits stays near the cache


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
            # the coefficients of a token's logits in the loss sum to zero, so the normalizer has
            # weight 1: the gradient is softmax - other, and less by the peak at the target;
            # computed in place if the types agree, since copying the logits takes time
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

    The target has probability 1 - smoothing, every other entry smoothing / (V - 1), as in
    fairseq's ``label_smoothed_nll_loss``. Computed in at least single precision.

    Args:
        logits: (N, V).
        target: (N,).
        smoothing: epsilon, from 0 to below 1.
        padding_idx: the padding symbol.

    Returns:
        the loss (N,), differentiable, and the negative log-likelihood (N,), detached; in nats.
    """
    loss, nll = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        logits, target, smoothing, padding_idx
    )
    return loss, nll
