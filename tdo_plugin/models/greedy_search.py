"""Greedy search where only the words are wanted, each sentence under a limit of its own.

A generator's beam of one keeps scores, and so takes the softmax of the whole vocabulary at every
step; here the likeliest token is enough, in any precision.

Shapes: B sentences, P first symbols of a target.
"""

from collections.abc import Sequence
from typing import Any

import torch
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor

from tdo_plugin.models.topk_beam_search import is_plain_softmax, unfinished

# While this share of the sentences is not done the others stay: leaving them out copies what waits
# of all that go on.
CROWD = 7 / 8


def is_possible(model: Any) -> bool:
    """Whether a model's likeliest tokens are those with the largest outputs of its decoder."""
    return isinstance(model.decoder, FairseqIncrementalDecoder) and is_plain_softmax(model)


@torch.no_grad()
def greedy_search(
    model: Any,
    net_input: dict[str, Tensor],
    begin: Tensor,
    limits: Sequence[int],
    least: int = 1,
) -> list[list[int]]:
    """The words that follow ``begin``, without the end symbol.

    Where the scores are no numbers, every word is the first symbol of the dictionary.

    Args:
        model: an encoder-decoder of which it :func:`is_possible`.
        net_input: of B sentences, without the target.
        begin: what targets begin with, (B, P), P from 1.
        limits: the most words of each sentence, positive.
        least: no end before so many words.
    """
    decoder = model.decoder
    pad, eos = decoder.dictionary.pad(), decoder.dictionary.eos()
    source, state = model.encoder(**net_input), dict[str, Any]()

    def last(tokens: Tensor) -> Tensor:
        """Features of the last position, (n, D)."""
        features, _ = decoder(
            tokens, encoder_out=source, incremental_state=state, features_only=True
        )
        return features[:, -1]

    for length in range(1, begin.size(1)):  # fairseq's decoders take one symbol at a time
        last(begin[:, :length])
    most = torch.tensor(limits, device=begin.device)
    words = begin.new_full((len(limits), max(limits)), eos)
    present, tokens = torch.arange(len(limits), device=begin.device), begin
    done = most < 0
    for step in range(max(limits)):
        logits = decoder.output_layer(last(tokens))
        logits[:, pad] = float("-inf")
        if step < least:
            logits[:, eos] = float("-inf")
        chosen = logits.argmax(1).masked_fill(done, eos)
        words[present, step] = chosen
        done = chosen.eq(eos) | (most <= step + 1)
        tokens = torch.cat([tokens, chosen[:, None]], 1)
        kept = unfinished(~done, step, CROWD)
        if kept is None:
            continue
        if not len(kept):
            break
        present, tokens, most, done = (tensor[kept] for tensor in (present, tokens, most, done))
        decoder.reorder_incremental_state_scripting(state, kept)
        source = model.encoder.reorder_encoder_out(source, kept)
    return [_words(row, eos) for row in words.tolist()]


def _words(row: Sequence[int], end: int) -> list[int]:
    return [*row[: row.index(end)]] if end in row else [*row]
