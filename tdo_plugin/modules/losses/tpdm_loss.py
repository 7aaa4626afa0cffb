"""The losses of TPDM (Chen et al., 2023), in torch alone.

All functions take embeddings of source tokens with right padding: column k holds position k of a
sentence, and column 0 the language tag (see :func:`left_aligned`). Losses are zero at padding,
unreduced, in nats and in at least single precision.

Shapes: B sentences, S source, D model width.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

HARD_CONCRETE = (-0.1, 1.1)  # range of the stretched gate before it is clipped to [0, 1]


def left_aligned(padding: Tensor) -> Tensor:
    """The columns (B, S) that move each sentence's tokens to the front, in order."""
    return padding.int().argsort(dim=1, stable=True)


def log_likelihood(generated: Tensor, positional: Tensor, padding: Tensor, tau: float) -> Tensor:
    """log p(p_j | h_i) for all tokens i, j of a sentence (equation 6): (B, S, S), rows i.

    A softmax over the sentence's tokens, of cosine similarities divided by the temperature. The
    printed equation lacks the exponential that makes it a distribution (without it the temperature
    cancels); the works that the paper follows have it.

    Args:
        generated: G(h), (B, S, D).
        positional: p, (B, S, D).
        padding: boolean (B, S), true at padding, which the softmax leaves out.
        tau: the temperature.
    """
    similarity = _direction(generated) @ _direction(positional).transpose(1, 2) / tau
    return _among_tokens(similarity, padding)


def generator_loss(likelihood: Tensor, padding: Tensor) -> Tensor:
    """-log p(p_j | h_j) of each token (equation 8): (B, S).

    Args:
        likelihood: from :func:`log_likelihood`.
        padding: as in :func:`log_likelihood`.
    """
    diagonal = likelihood.diagonal(dim1=1, dim2=2)
    return -diagonal.masked_fill(padding, 0)


def mutual_information(likelihood: Tensor, padding: Tensor) -> Tensor:
    """Upper bound of the mutual information of h_j and p_j, per token (equation 1): (B, S).

    log p(p_j | h_j) minus its mean over the h_k of the sentence's tokens.

    Args:
        likelihood: from :func:`log_likelihood`.
        padding: as in :func:`log_likelihood`.
    """
    hidden = padding[:, None, :] | padding[:, :, None]
    likelihood = likelihood.masked_fill(hidden, 0)
    tokens = (~padding).sum(1, keepdim=True).clamp(min=1)
    return likelihood.diagonal(dim1=1, dim2=2) - likelihood.sum(1) / tokens


def batch_mean_anchors(positional: Tensor, padding: Tensor) -> Tensor:
    """Mean p of each position over the sentences long enough (below equation 9): (S, D)."""
    dtype = torch.promote_types(positional.dtype, torch.float32)
    total = positional.to(dtype).masked_fill(padding[..., None], 0).sum(0)
    count: Tensor = (~padding).sum(0).clamp(min=1)
    return total / count[:, None]


def position_loss(positional: Tensor, anchors: Tensor, padding: Tensor, tau: float) -> Tensor:
    """-log of the share of a token's own position among those of its sentence (equation 9): (B, S).

    A softmax of cosine similarities divided by the temperature, as in equation 6.

    Args:
        positional: p, (B, S, D).
        anchors: mean p of each position, (S, D).
        padding: boolean (B, S), true at padding.
        tau: the temperature.
    """
    similarity = _direction(positional) @ _direction(anchors).T / tau
    shares = _among_tokens(similarity, padding)
    return -shares.diagonal(dim1=1, dim2=2).masked_fill(padding, 0)


def _among_tokens(scores: Tensor, padding: Tensor) -> Tensor:
    """Log-softmax of scores (B, S, S) over the tokens of each sentence, per row."""
    least = torch.finfo(scores.dtype).min  # finite, so that a row without tokens is not NaN
    return scores.masked_fill(padding[:, None, :], least).log_softmax(-1)


def _direction(x: Tensor) -> Tensor:
    """Vectors (..., D) normalised to length 1."""
    return F.normalize(x.to(torch.promote_types(x.dtype, torch.float32)), dim=-1)


class RelaxedBernoulli:
    """Gates in (0, 1), mostly near the ends (Paranjape et al., 2020; Maddison et al., 2017).

    Args:
        temperature: the lower, the nearer gates are to 0 or 1.
    """

    def __init__(self, temperature: float) -> None:
        self.temperature = temperature

    def open(self, logits: Tensor) -> Tensor:
        """The logits of each gate being open, in the shape of ``logits``."""
        return logits

    def draw(self, logits: Tensor) -> Tensor:
        """A random gate for each logit, differentiable."""
        # kept inside (0, 1), since logarithms of both ends are taken
        uniform = torch.rand_like(logits).clamp_(1e-6, 1 - 1e-6)
        return torch.sigmoid((logits + uniform.logit()) / self.temperature)


class HardConcrete(RelaxedBernoulli):
    """Relaxed gates, stretched and clipped so that some are 0 or 1 (Louizos et al., 2018)."""

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
