"""How well source states predict the words of the target, regardless of their order (ours).

Shapes: B sentences, S source, T target, D model width, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import embedding
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from tdo_plugin.modules.source_state import SourceState
    from tdo_plugin.modules.translation_model import TranslationModel

ROWS = 512  # positions per block of logits


def lexical_nll(
    features: Tensor, weight: Tensor, padding: Tensor, target: Tensor, padding_idx: int
) -> Tensor:
    """-log p(y | x) with p(y_j | x) = 1 / S sum_i p(y_j | h_i): IBM model 1 (Brown et al., 1993).

    All source positions, including tag and end symbol, predict each target token with equal
    weight; each position has a distribution over the vocabulary. The (B, S, V) logits are computed
    block by block.

    Args:
        features: h (B, S, D), as input of the output projection.
        weight: of the output projection, (V, D).
        padding: true at the source's padding, (B, S).
        target: (B, T), padding where nothing is predicted.
        padding_idx: the padding symbol.

    Returns:
        the sum over target tokens, in nats, in at least single precision.
    """
    logits = features @ embedding(target, weight).transpose(1, 2)  # (B, S, T)
    single = torch.promote_types(logits.dtype, torch.float32)
    log_probs = logits.to(single) - _normalizer(features, weight, single)[:, :, None]
    log_probs = log_probs.masked_fill(padding[:, :, None], -math.inf)
    lengths = (~padding).sum(1).to(single).log()  # (B,)
    nll = lengths[:, None] - log_probs.logsumexp(1)
    return nll.masked_fill(target.eq(padding_idx), 0).sum()


def entry_lexical_nll(model: TranslationModel, source: SourceState, target: Tensor) -> Tensor:
    """:func:`lexical_nll` of the source states that the target reads at its entry.

    Args:
        model: provides the output projection.
        source: must contain the requested output of layer ``model.spec.entry_layer``.
        target: (B, T).
    """
    state = source.layer_outputs[model.spec.entry_layer]
    features = model.stack.bridge(state, source.context[:, None])
    weight = model.embeddings.output_weight
    return lexical_nll(features, weight, source.padding, target, model.padding_idx)


def _normalizer(features: Tensor, weight: Tensor, single: torch.dtype) -> Tensor:
    """log sum_v exp(h . w_v) of features (B, S, D): (B, S)."""

    def of_block(block: Tensor) -> Tensor:
        # sums over many logits need more than half precision
        return (block @ weight.T).to(single).logsumexp(-1)

    blocks = [
        checkpoint(of_block, block, use_reentrant=False, preserve_rng_state=False)
        for block in features.flatten(0, 1).split(ROWS)
    ]
    return torch.cat(blocks).view(features.shape[:2])
