"""Output projection fused with label-smoothed cross-entropy, without storing all logits.

The logits are by far the largest tensor of a batch, and autograd would keep several copies. Here
they are computed for a block of tokens at a time, together with the block's part of the gradient.
Shapes: N tokens, D model width, V vocabulary, R tokens per block.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tdo_plugin.modules.linear import Product, gradient_of_weights, product_for

# Tokens per block, and rows normalised at a time. Smaller blocks make the products slow, since each
# adds to the gradient of the whole weight; larger ones take more memory. Within a block, single-
# precision probabilities are computed for a few rows, on a CPU so that they stay in its cache.
ROWS = {"cpu": (512, 16), "cuda": (1024, 256)}
ENTRIES = 8192  # of the vocabulary, whose products are added to the weight's gradient at a time


@dataclass(frozen=True)
class _Loss:
    """The loss of tokens and its gradient with respect to the logits, block by block.

    Attributes:
        weight: (V, D).
        smoothing: epsilon.
        rows: R, and how many of these rows are normalised at a time.
        scale: factor of the gradients; None: 1.
    """

    weight: Tensor
    smoothing: float
    rows: tuple[int, int]
    scale: Tensor | None = None

    @property
    def single(self) -> torch.dtype:
        """The type of sums: at least single precision."""
        return torch.promote_types(self.weight.dtype, torch.float32)

    def blocks(
        self, features: Tensor, target: Tensor, sums: Tensor, gradient: bool
    ) -> Iterator[tuple[int, Tensor]]:
        """Add loss and negative log-likelihood to ``sums`` (2,), block by block.

        Args:
            features: (N, D).
            target: (N,).
            sums: of losses and of negative log-likelihoods.
            gradient: whether to compute the gradient.

        Yields:
            the first token of the block, and the gradient (R, V) of the loss with respect to its
            logits, to be freed before the next block.
        """
        most, few = self.rows
        for start in range(0, len(features), most):
            block = features[start : start + most]
            logits = self.product(block)(block, self.weight, None)
            targets = target[start : start + most]
            self._normalise(logits, targets, few, sums, gradient)
            yield start, logits
            del logits

    def product(self, block: Tensor) -> Product:
        """The product of a block of features, or of its gradient, and the weight."""
        return product_for(block, len(self.weight), self.weight.dtype)

    def _normalise(
        self, logits: Tensor, target: Tensor, few: int, sums: Tensor, with_gradient: bool
    ) -> None:
        """A block, ``few`` tokens at a time; leaves no view of it behind."""
        for part, chosen in zip(logits.split(few), target.split(few), strict=True):
            self._normalise_few(part, chosen[:, None], sums, with_gradient)

    def _normalise_few(
        self, logits: Tensor, target: Tensor, sums: Tensor, with_gradient: bool
    ) -> None:
        """A few tokens; overwrites their logits with the gradient if it is needed."""
        vocabulary = logits.size(1)
        other = self.smoothing / (vocabulary - 1)
        peak = 1 - self.smoothing - other
        probabilities = torch.softmax(logits, 1, dtype=self.single)
        # by the likeliest entry, whose probability is at least 1 / V: one pass less than by the
        # logarithms of all. Differences of logits come first, since logits may be large.
        best = logits.amax(1, keepdim=True).to(self.single)
        best_nll = probabilities.amax(1, keepdim=True).log_().neg_()
        nll = (best - logits.gather(1, target) + best_nll).sum()
        mean_nll = best - logits.mean(1, keepdim=True, dtype=self.single) + best_nll
        sums[0] += peak * nll + other * vocabulary * mean_nll.sum()
        sums[1] += nll
        if with_gradient:
            probabilities.scatter_add_(1, target, probabilities.new_full(target.shape, -peak))
            self._store(probabilities, other, logits)

    def _store(self, probabilities: Tensor, other: float, logits: Tensor) -> None:
        """Write the gradient over the logits, in as few passes as possible."""
        if self.scale is not None:
            logits.copy_(probabilities.sub_(other).mul_(self.scale))
        elif logits.dtype == probabilities.dtype:
            torch.sub(probabilities, other, out=logits)
        else:
            logits.copy_(probabilities.sub_(other))

    def gradients(
        self,
        features: Tensor,
        target: Tensor,
        sums: Tensor,
        needs_gradient: tuple[bool, bool],
    ) -> list[Tensor | None]:
        """Gradients with respect to features and weight, as needed; adds to ``sums``."""
        to_features = torch.empty_like(features) if needs_gradient[0] else None
        to_weight = torch.zeros_like(self.weight, dtype=self.single) if needs_gradient[1] else None
        for start, gradient in self.blocks(features, target, sums, gradient=True):
            block = slice(start, start + len(gradient))
            product = self.product(features[block])
            if to_features is not None:
                to_features[block] = product(gradient, self.weight.T, None)
            if to_weight is not None:
                _add_product(to_weight, gradient, features[block], product)
            del gradient
        half = None if to_weight is None else to_weight.to(self.weight.dtype)
        return [to_features, half]


def _add_product(total: Tensor, gradient: Tensor, features: Tensor, product: Product) -> None:
    """``total += gradient.T @ features``; products of half precision are added in single precision.

    Args:
        total: (V, D).
        gradient: (R, V).
        features: (R, D).
        product: of these.
    """
    if product is F.linear and total.dtype == gradient.dtype:
        total.addmm_(gradient.T, features)
        return
    # a few entries at a time, since the product takes memory before it is added
    for part, columns in zip(total.split(ENTRIES), gradient.split(ENTRIES, 1), strict=True):
        part += gradient_of_weights(product, columns, features)


class _LinearCrossEntropy(torch.autograd.Function):
    """Computes gradients together with the loss, so that logits are computed once.

    Except in fp16: the smallest gradients underflow unless they are multiplied by the loss scale,
    which is known only in the backward pass.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        target: Tensor,
        smoothing: float,
        needs_gradient: tuple[bool, bool],
    ) -> tuple[Tensor, Tensor]:
        loss = _Loss(weight, smoothing, ROWS["cuda" if features.is_cuda else "cpu"])
        sums = torch.zeros(2, dtype=loss.single, device=features.device)
        late = features.dtype == torch.float16
        ctx.loss, ctx.ready, ctx.wanted = loss, None, needs_gradient
        if any(needs_gradient) and not late:
            ctx.ready = loss.gradients(features, target, sums, needs_gradient)
        else:
            ctx.save_for_backward(features, target)
            for _, logits in loss.blocks(features, target, sums, gradient=False):
                del logits
        total, nll = sums.unbind()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        if ctx.ready is None:
            features, target = ctx.saved_tensors
            sums = torch.zeros(2, dtype=ctx.loss.single, device=features.device)
            scaled = replace(ctx.loss, scale=upstream)
            parts = scaled.gradients(features, target, sums, ctx.wanted)
        elif not ctx.ready:
            raise RuntimeError("the gradient of this loss was already taken and is not kept")
        else:
            parts = [None if part is None else _times(part, upstream) for part in ctx.ready]
            ctx.ready = ()  # multiplied in place
        return (*parts, None, None, None)


def _real_places(real: Tensor, tokens: int | None) -> Tensor:
    """The indices of true elements, of which there are ``tokens``."""
    if tokens is None:
        return real.nonzero()[:, 0]
    torch._assert_async(real.sum() == tokens, "the batch must have as many tokens as it says")
    return (~real).int().argsort(stable=True)[:tokens]


def _times(gradient: Tensor, upstream: Tensor) -> Tensor:
    return gradient.mul_(upstream.to(gradient.dtype))


def linear_cross_entropy(
    features: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    padding_idx: int,
    tokens: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Summed label-smoothed loss and negative log-likelihood of ``features @ weight.T``.

    Equals :func:`~tdo_plugin.modules.losses.cross_entropy.smoothed_cross_entropy` of all logits,
    summed over tokens other than padding. Under autocast the product is computed in autocast's
    type. The gradient can be taken once.

    Args:
        features: (..., D).
        weight: (V, D).
        target: (...), token ids.
        smoothing: epsilon.
        padding_idx: the padding symbol.
        tokens: the number of tokens other than padding; None: it is read from the device.

    Returns:
        the loss, differentiable, and the negative log-likelihood, detached; in nats, in at least
        single precision.
    """
    device = features.device.type
    places = _real_places(target.ne(padding_idx).flatten(), tokens)
    features = features.flatten(0, -2).index_select(0, places)
    target = target.flatten().index_select(0, places)
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        features, weight = features.to(dtype), weight.to(dtype)
    enabled = torch.is_grad_enabled()
    needs_gradient = enabled and features.requires_grad, enabled and weight.requires_grad
    with torch.autocast(device, enabled=False):
        loss, nll = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
            features, weight, target, smoothing, needs_gradient
        )
    return loss, nll
