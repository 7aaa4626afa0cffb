"""Sentence vectors: the mean of a source layer's outputs.

Shapes: B sentences of a batch, N of all of them, S source, D model width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from tdo_plugin.analysis.source_outputs import source_outputs
from tdo_plugin.modules.token_context import TokenContext
from tdo_plugin.modules.translation_model import TranslationModel

# number of each sentence (B,); source tokens (B, S), padded on either side; context (B,) of the
# sentences, for models that need languages
Batch = tuple[Tensor, Tensor, "TokenContext"]


def pooled_outputs(
    core: TranslationModel, batches: Iterable[Batch], layers: Sequence[int], sentences: int
) -> dict[int, Tensor]:
    """The mean output (N, D) of source layers, by index from 1 (Qu et al., appendix A).

    The mean is over all tokens except padding, including tag and end symbol. Outputs are those of
    :func:`source_outputs`; the means are stored in single precision on the CPU.

    Args:
        core: in evaluation mode.
        batches: sources, with each number below ``sentences`` once.
        layers: from 1.
        sentences: N.

    Raises:
        ValueError: the model is in training mode.
    """
    pooled = {layer: torch.full((sentences, core.spec.model_dim), torch.nan) for layer in layers}
    for (numbers, tokens, _), states in source_outputs(core, batches, layers):
        padding = tokens.eq(core.padding_idx)[..., None]
        lengths = (~padding).sum(1)
        for layer, state in states.items():
            means = state.masked_fill(padding, 0).sum(1) / lengths
            pooled[layer][numbers] = means.float().cpu()
    return pooled
