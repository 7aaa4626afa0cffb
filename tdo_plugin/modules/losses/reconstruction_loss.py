"""Source reconstruction: targets and loss (Gao et al., 2022, section 3.1.2), in torch alone.

Shapes: B sentences, S source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from tdo_plugin.modules.source_state import SourceState
    from tdo_plugin.modules.translation_model import TranslationModel


def reconstruction_target(src_tokens: Tensor, task: str, tags: Tensor, padding_idx: int) -> Tensor:
    """What each position of a source predicts (B, S), the padding symbol where it predicts nothing.

    Every token is predicted but tags, wherever they stand: in front, or at the end in place of the
    end symbol. Language modelling leaves out the first token, before which nothing stands; where
    that is a tag, it predicts the whole sentence.

    Args:
        src_tokens: (B, S), padded on either side, without noise.
        task: ``lm``, each position the token after it; ``ae``, each its own.
        tags: (number of tags,), ids of symbols that are no text.
        padding_idx: the padding symbol.
    """
    shifted = task == "lm"
    tokens = F.pad(src_tokens[:, 1:], (0, 1), value=padding_idx) if shifted else src_tokens
    # the token after padding on the left is the first one
    unpredicted = src_tokens.eq(padding_idx) | torch.isin(tokens, tags)
    return tokens.masked_fill(unpredicted, padding_idx)


def reconstruction_loss(
    model: TranslationModel, source: SourceState, target: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Label-smoothed loss and likelihood of ``target`` (B, S) given a source's last state, summed.

    Args:
        model: with the output projection.
        source: the output of layer ``model.spec.source_layers`` must be among what was requested.
        target: of :func:`reconstruction_target`.
        smoothing: epsilon.
    """
    last = source.layer_outputs[model.spec.source_layers]
    return model.cross_entropy(model.stack.readout(last, source.context), target, smoothing)
