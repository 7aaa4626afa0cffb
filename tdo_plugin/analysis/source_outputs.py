"""Layer outputs of a frozen model for sources.

Shapes: B sentences, S source, D model width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.translation_model import TranslationModel

# any information about a batch, then its source tokens (B, S), padded on either side, and the
# context (B,) of its sentences
Batch = TypeVar("Batch", bound=tuple[Any, ...])


@torch.no_grad()
def source_outputs(
    core: TranslationModel, batches: Iterable[Batch], layers: Sequence[int]
) -> Iterator[tuple[Batch, dict[int, Tensor]]]:
    """Each batch with the outputs (B, S, D) of source layers, by index from 1.

    No target is read, and layers above the last requested one are not computed. Outputs are taken
    before any adaptation, language transformation or final norm.

    Args:
        core: in evaluation mode.
        batches: sources.
        layers: from 1.

    Raises:
        ValueError: the model is in training mode, where dropout would disturb its states.
    """
    if core.training:
        raise ValueError("the model must be in evaluation mode")
    for batch in batches:
        *_, tokens, context = batch
        request = SourceRequest(tokens, tuple(layers), source_kv=False, context=context)
        yield batch, core.encode_all([request])[0].layer_outputs
