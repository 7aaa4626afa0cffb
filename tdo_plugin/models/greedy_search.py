"""Greedy search that returns only words, with a length limit for each sentence.

A generator with beam 1 keeps scores, and so computes the softmax over the whole vocabulary at every
step; here the largest logit is enough, in any precision.

Shapes: B sentences, P first symbols of a target.
"""

from collections.abc import Sequence
from typing import Any

import torch
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor

from tdo_plugin.models.topk_beam_search import is_plain_softmax, unfinished

# Finished sentences stay in the batch while at least this share is unfinished: removing them copies
# the state of all others.
CROWD = 7 / 8


def is_possible(model: Any) -> bool:
    """Whether a model's likeliest token is the one with the decoder's largest output."""
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

    If the outputs are NaN, every word is the first symbol of the dictionary.

    Args:
        model: an encoder-decoder for which :func:`is_possible` holds.
        net_input: B sentences, without the target.
        begin: the first symbols of the targets, (B, P), P from 1.
        limits: the maximum number of words of each sentence, positive.
        least: the minimum number of words.
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

    for length in range(1, begin.size(1)):  # fairseq's decoders take one symbol per step
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
