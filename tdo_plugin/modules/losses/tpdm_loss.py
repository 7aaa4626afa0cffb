"""The losses of TPDM (Chen et al., 2023), in torch alone.

All take embeddings of source tokens with padding on the right: position k of a sentence is column
k, of which column 0 is the language tag (see :func:`left_aligned`). What they return is zero at
padding, unreduced, in nats and at least single precision.

Shapes: B sentences, S source, D model width.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

HARD_CONCRETE = (-0.1, 1.1)  # what the relaxed gate is stretched to before it is clipped to [0, 1]


def left_aligned(padding: Tensor) -> Tensor:
    """The columns (B, S) of each sentence with its tokens first, in order, and padding after."""
    return padding.int().argsort(dim=1, stable=True)


def log_likelihood(generated: Tensor, positional: Tensor, padding: Tensor, tau: float) -> Tensor:
    """log p(p_j | h_i) of all tokens i, j of a sentence (equation 6): (B, S, S), rows i.

    A softmax over the sentence's tokens of cosine similarities over the temperature. The equation
    is printed without the exponential that makes it a distribution (and without which the
    temperature cancels); the works it follows have it.

    Args:
        generated: G(h), (B, S, D).
        positional: p, (B, S, D).
        padding: boolean (B, S), true at padding, whose columns have no share.
        tau: the temperature.
    """
    similarity = _direction(generated) @ _direction(positional).transpose(1, 2) / tau
    return _among_tokens(similarity, padding)


def generator_loss(likelihood: Tensor, padding: Tensor) -> Tensor:
    """- log p(p_j | h_j) of each token (equation 8): (B, S).

    Args:
        likelihood: of :func:`log_likelihood`.
        padding: as there.
    """
    diagonal = likelihood.diagonal(dim1=1, dim2=2)
    return -diagonal.masked_fill(padding, 0)


def mutual_information(likelihood: Tensor, padding: Tensor) -> Tensor:
    """The upper bound of the mutual information of h_j and p_j (equation 1), by token: (B, S).

    log p(p_j | h_j) less its mean over the h_k of the sentence's tokens.

    Args:
        likelihood: of :func:`log_likelihood`.
        padding: as there.
    """
    hidden = padding[:, None, :] | padding[:, :, None]
    likelihood = likelihood.masked_fill(hidden, 0)
    tokens = (~padding).sum(1, keepdim=True).clamp(min=1)
    return likelihood.diagonal(dim1=1, dim2=2) - likelihood.sum(1) / tokens


def batch_mean_anchors(positional: Tensor, padding: Tensor) -> Tensor:
    """The mean p of each position over the sentences that reach it (below equation 9): (S, D)."""
    dtype = torch.promote_types(positional.dtype, torch.float32)
    total = positional.to(dtype).masked_fill(padding[..., None], 0).sum(0)
    count: Tensor = (~padding).sum(0).clamp(min=1)
    return total / count[:, None]


def position_loss(positional: Tensor, anchors: Tensor, padding: Tensor, tau: float) -> Tensor:
    """- log of the share of a token's position among those of its sentence (equation 9): (B, S).

    As in equation 6, a softmax of cosine similarities over the temperature.

    Args:
        positional: p, (B, S, D).
        anchors: of each position, (S, D).
        padding: boolean (B, S), true at padding.
        tau: the temperature.
    """
    similarity = _direction(positional) @ _direction(anchors).T / tau
    shares = _among_tokens(similarity, padding)
    return -shares.diagonal(dim1=1, dim2=2).masked_fill(padding, 0)


def _among_tokens(scores: Tensor, padding: Tensor) -> Tensor:
    """Log of the softmax of scores (B, S, S) over the tokens of each sentence, by row."""
    least = torch.finfo(scores.dtype).min  # finite, so that a row without a token is no NaN
    return scores.masked_fill(padding[:, None, :], least).log_softmax(-1)


def _direction(x: Tensor) -> Tensor:
    """Vectors (..., D) of length one."""
    return F.normalize(x.to(torch.promote_types(x.dtype, torch.float32)), dim=-1)


class RelaxedBernoulli:
    """Gates in (0, 1) that lean to their ends (Paranjape et al., 2020; Maddison et al., 2017).

    Args:
        temperature: the lower, the nearer to 0 or 1.
    """

    def __init__(self, temperature: float) -> None:
        self.temperature = temperature

    def open(self, logits: Tensor) -> Tensor:
        """The probability of each gate being open, as logits in the shape of ``logits``."""
        return logits

    def draw(self, logits: Tensor) -> Tensor:
        """A gate for each logit, differentiable."""
        # from (0, 1) without its ends, of which logarithms are taken
        uniform = torch.rand_like(logits).clamp_(1e-6, 1 - 1e-6)
        return torch.sigmoid((logits + uniform.logit()) / self.temperature)


class HardConcrete(RelaxedBernoulli):
    """Relaxed gates, stretched and clipped to [0, 1], so that some are 0 or 1 (Louizos, 2018)."""

    def open(self, logits: Tensor) -> Tensor:
        low, high = HARD_CONCRETE
        return logits - self.temperature * math.log(-low / high)

    def draw(self, logits: Tensor) -> Tensor:
        low, high = HARD_CONCRETE
        return (super().draw(logits) * (high - low) + low).clamp(0, 1)


GATES: dict[str, type[RelaxedBernoulli]] = {
    "relaxed-bernoulli": RelaxedBernoulli,
    "hard-concrete": HardConcrete,
}


def prior_divergence(logits: Tensor, prior: float) -> Tensor:
    """KL divergence of Bernoulli gates with these logits from Bernoulli(prior), elementwise."""
    probability = logits.sigmoid()
    shut = F.logsigmoid(-logits) - math.log1p(-prior)
    return probability * (F.logsigmoid(logits) - math.log(prior)) + (1 - probability) * shut
