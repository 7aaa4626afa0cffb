"""The states of a frozen model at the tokens of sentences.

Shapes: B sentences, S source, N tokens of all sentences, D model width.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tdo_plugin.analysis.source_outputs import source_outputs
from tdo_plugin.modules.token_context import TokenContext
from tdo_plugin.modules.translation_model import TranslationModel

# number of the direction; line of each sentence in its set (B,); source tokens (B, S), padded on
# either side; the context of the sentences
Batch = tuple[int, Tensor, Tensor, "TokenContext"]


@dataclass(frozen=True)
class TokenStates:
    """The concatenated tokens of sentences, and a model's states at these tokens.

    Tags, end symbols and padding are excluded and not counted as positions, so that tokens and
    positions do not depend on a model's tags and on the side of padding.

    Attributes:
        tokens: ids (N,).
        positions: of the tokens in their sentences, from 0, (N,).
        lines: of the tokens' sentences in their sets, (N,).
        directions: of the tokens' sentences, by number, (N,).
        states: outputs (N, D) of layers, by index from 1, in single precision.
    """

    tokens: Tensor
    positions: Tensor
    lines: Tensor
    directions: Tensor
    states: dict[int, Tensor]


def read_states(
    core: TranslationModel,
    batches: Iterable[Batch],
    layers: Sequence[int],
    ignored: Collection[int],
) -> TokenStates:
    """The outputs of source layers at every token.

    As computed by :func:`source_outputs`. Memory is 4 * N * D bytes per layer.

    Args:
        core: in evaluation mode.
        batches: sources.
        layers: from 1.
        ignored: tokens to exclude: padding, end symbol, tags.

    Raises:
        ValueError: the model is in training mode, where dropout would disturb its states.
    """
    special: Tensor | None = None
    columns: list[tuple[Tensor, ...]] = []
    for (direction, lines, tokens, _), outputs in source_outputs(core, batches, layers):
        if special is None:
            special = torch.tensor(sorted(ignored), device=tokens.device)
        kept = ~(tokens[..., None] == special).any(-1)  # (B, S)
        positions = kept.cumsum(1) - 1
        rows = lines.to(tokens.device, non_blocking=True)[:, None].expand_as(tokens)
        numbers = torch.full_like(tokens, direction)
        places = kept.flatten().nonzero()[:, 0]
        small = torch.stack([tokens, positions, rows, numbers]).flatten(1)[:, places].cpu()
        states = (outputs[layer].flatten(0, 1)[places].float() for layer in layers)
        columns.append((*small, *states))
    ids, positions, rows, numbers, *by_layer = map(torch.cat, zip(*columns, strict=True))
    return TokenStates(ids, positions, rows, numbers, dict(zip(layers, by_layer, strict=True)))
