"""How well source states name the words of a target, wherever these stand (ours).

Shapes: B sentences, S source, T target, D model width, V vocabulary.
"""

import math

import torch
from torch import Tensor


def lexical_nll(
    features: Tensor, weight: Tensor, padding: Tensor, target: Tensor, padding_idx: int
) -> Tensor:
    """-log p(y | x) with p(y_j | x) = 1 / S sum_i p(y_j | h_i): IBM model 1 (Brown et al., 1993).

    Each target token is told by all source positions alike, tag and end symbol included, of which
    each has a distribution over the vocabulary. All (B, S, V) logits are made.

    Args:
        features: h (B, S, D) as the output projection reads them.
        weight: of the output projection, (V, D).
        padding: true at the source's padding, (B, S).
        target: (B, T), padding where nothing is told.
        padding_idx: the padding symbol.

    Returns:
        the sum over target tokens, in nats, in at least single precision.
    """
    logits = features @ weight.T
    single = torch.promote_types(logits.dtype, torch.float32)
    wanted = target[:, None].expand(-1, features.size(1), -1)
    # sums of many logits need more than half precision
    log_probs = torch.log_softmax(logits, -1, dtype=single).gather(2, wanted)  # (B, S, T)
    log_probs = log_probs.masked_fill(padding[:, :, None], -math.inf)
    lengths = (~padding).sum(1).to(single).log()  # (B,)
    nll = lengths[:, None] - log_probs.logsumexp(1)
    return nll[target.ne(padding_idx)].sum()
