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
# either side; the context of each sentence
Batch = tuple[int, Tensor, Tensor, "TokenContext"]


@dataclass(frozen=True)
class TokenStates:
    """Tokens of sentences, one after the other, and what a model makes of them.

    Tags, end symbols and padding are not among them, and positions do not count them, so that they
    are the same whatever a model's tags and on whichever side a batch is padded.

    Attributes:
        tokens: ids (N,).
        positions: of each in its sentence, from 0, (N,).
        lines: of each one's sentence in its set, (N,).
        directions: of each one's sentence, by number, (N,).
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
    """The outputs of source layers at every token, of a model that stays as it is.

    They come as :func:`source_outputs` has them. In memory are 4 * N * D bytes a layer.

    Args:
        core: in evaluation mode.
        batches: sources.
        layers: from 1.
        ignored: tokens that are none of the sentence: padding, end symbol, tags.

    Raises:
        ValueError: the model is in training mode, where dropout would disturb what it knows.
    """
    special = torch.tensor(sorted(ignored))
    columns: list[tuple[Tensor, ...]] = []
    for (direction, lines, tokens, _), outputs in source_outputs(core, batches, layers):
        kept = ~torch.isin(tokens, special.to(tokens.device))  # (B, S)
        positions = kept.cumsum(1) - 1
        rows = lines.to(tokens.device)[:, None].expand_as(tokens)
        numbers = torch.full_like(tokens, direction)
        small = [column[kept].cpu() for column in (tokens, positions, rows, numbers)]
        columns.append((*small, *(outputs[layer][kept].float() for layer in layers)))
    ids, positions, rows, numbers, *states = map(torch.cat, zip(*columns, strict=True))
    return TokenStates(ids, positions, rows, numbers, dict(zip(layers, states, strict=True)))
