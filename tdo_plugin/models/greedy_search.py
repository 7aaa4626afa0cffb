"""Greedy search where only the words are wanted, each sentence under a limit of its own.

A generator's beam of one keeps scores, and so takes the softmax of the whole vocabulary at every
step; here the likeliest token is enough, in any precision.

Shapes: B sentences, P first symbols of a target.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# Sentences that are done are left out when they are one in so many: leaving them out copies what
# waits of all the others.
CROWD = 8
# Steps after which a GPU is asked which sentences are done; it waits for the answer.
PATIENCE = 8


@torch.no_grad()
def greedy_search(
    model: Any,
    net_input: dict[str, Tensor],
    begin: Tensor,
    limits: Sequence[int],
    least: int = 1,
) -> list[list[int]]:
    """The words that follow ``begin``, without the end symbol.

    Where scores are no numbers, so are the words: any symbols.

    Args:
        model: an encoder-decoder in fairseq's sense that decodes incrementally.
        net_input: of B sentences, without the target.
        begin: what targets begin with, (B, P), P from 1.
        limits: the most words of each sentence, positive.
        least: no end before so many words.
    """
    decoder = model.decoder
    pad, eos = decoder.dictionary.pad(), decoder.dictionary.eos()
    source, state = model.encoder(**net_input), dict[str, Any]()
    left = torch.tensor(limits, device=begin.device)  # words of those that still go on
    found = begin.new_full((len(limits), max(limits)), eos)
    present, tokens = torch.arange(len(limits), device=begin.device), begin
    done = left < 0
    for length in range(1, begin.size(1)):  # fairseq's decoders take one symbol at a time
        decoder(begin[:, :length], encoder_out=source, incremental_state=state)
    for step in range(max(limits)):
        logits = decoder(tokens, encoder_out=source, incremental_state=state)[0][:, -1]
        logits[:, pad] = float("-inf")
        if step < least:
            logits[:, eos] = float("-inf")
        chosen = logits.argmax(1).masked_fill(done, eos)
        found[present, step] = chosen
        done = done | chosen.eq(eos) | (left == step + 1)
        tokens = torch.cat([tokens, chosen[:, None]], 1)
        kept = _worth_keeping(done, step)
        if kept is None:
            continue
        if not len(kept):
            break
        present, tokens, left, done = (one[kept] for one in (present, tokens, left, done))
        decoder.reorder_incremental_state_scripting(state, kept)
        source = model.encoder.reorder_encoder_out(source, kept)
    return [_words(row, eos) for row in found.tolist()]


def _worth_keeping(done: Tensor, step: int) -> Tensor | None:
    """The sentences that are not done, where it is worth leaving out those that are."""
    if done.device.type != "cpu" and (step + 1) % PATIENCE:
        return None
    kept = done.logical_not().nonzero()[:, 0]
    crowded = (len(done) - len(kept)) * CROWD >= len(done)
    return kept if crowded else None


def _words(row: Sequence[int], end: int) -> list[int]:
    return [*row[: row.index(end)]] if end in row else [*row]
