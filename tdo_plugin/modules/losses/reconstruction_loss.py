"""Source reconstruction: targets and loss (Gao et al., 2022, section 3.1.2), in torch alone.

Shapes: B sentences, S source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from tdo_plugin.modules.losses.instrucl_loss import instruction_index

if TYPE_CHECKING:
    from tdo_plugin.modules.source_state import SourceState
    from tdo_plugin.modules.translation_model import TranslationModel


def reconstruction_target(src_tokens: Tensor, task: str, tag: bool, padding_idx: int) -> Tensor:
    """What each position of a source predicts, the padding symbol where it predicts nothing.

    Scored is what follows the tag, up to and including the end symbol. Without a tag nothing comes
    before the first token, which language modelling leaves out then.

    Args:
        src_tokens: (B, S), padded on either side, undisturbed.
        task: ``lm``, each position the token after it; ``ae``, each its own.
        tag: whether sources begin with a language tag.
        padding_idx: the padding symbol.
    """
    padding = src_tokens.eq(padding_idx)
    if task == "lm":
        following = F.pad(src_tokens[:, 1:], (0, 1), value=padding_idx)
        return following.masked_fill(padding, padding_idx)
    if not tag or not src_tokens.size(1):
        return src_tokens
    return src_tokens.scatter(1, instruction_index(padding)[:, None], padding_idx)


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
