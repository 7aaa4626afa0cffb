"""Source reconstruction: targets and loss (Gao et al., 2022, section 3.1.2), in torch alone.

Shapes: B sentences, S source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from tdo_plugin.modules.source_state import SourceState
    from tdo_plugin.modules.translation_model import TranslationModel


def reconstruction_target(src_tokens: Tensor, task: str, tags: Tensor, padding_idx: int) -> Tensor:
    """What each position of a source predicts, (B, S); the padding symbol where nothing.

    All tokens but tags are predicted, whether the tag is the first token or replaces the end
    symbol. Language modelling does not predict the first token, which has no context; if that is
    a tag, the whole sentence is predicted.

    Args:
        src_tokens: (B, S), padded on either side, without noise.
        task: ``lm``: each position predicts the next token; ``ae``: its own token.
        tags: (number of tags,), ids of symbols that are not text.
        padding_idx: the padding symbol.
    """
    shifted = task == "lm"
    tokens = F.pad(src_tokens[:, 1:], (0, 1), value=padding_idx) if shifted else src_tokens
    # the first token is the one after left padding
    # torch's isin would wait for the device if there are many tags
    is_tag = (tokens[..., None] == tags).any(-1)
    unpredicted = src_tokens.eq(padding_idx) | is_tag
    return tokens.masked_fill(unpredicted, padding_idx)


def reconstruction_loss(
    model: TranslationModel,
    source: SourceState,
    target: Tensor,
    smoothing: float,
    tokens: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Label-smoothed loss and negative log-likelihood of the source's last states, summed.

    Args:
        model: provides the output projection.
        source: must contain the requested output of layer ``model.spec.source_layers``.
        target: (B, S), from :func:`reconstruction_target`.
        smoothing: epsilon.
        tokens: as for :func:`.linear_cross_entropy`.
    """
    last = source.layer_outputs[model.spec.source_layers]
    features = model.stack.readout(last, source.context)
    return model.cross_entropy(features, target, smoothing, tokens)
