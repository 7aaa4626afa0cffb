"""Attention weights of one sentence pair, by layer and head.

Shapes: S source, T target, H heads, K keys, E head width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.stack import DecoderOnlyStack
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext
from tdo_plugin.modules.translation_model import TranslationModel


@dataclass(frozen=True)
class SourceWeights:
    """Self-attention of the source in a layer.

    Attributes:
        layer: from 1.
        weights: (H, S, S); (H, S, S + 1) where the source also sees the first target symbol.
    """

    layer: int
    weights: Tensor


@dataclass(frozen=True)
class TargetWeights:
    """What the target reads in a layer, position t seeing the target up to position t.

    Attributes:
        layer: from 1; in a decoder-only model, the source's number of the same layer.
        kind: `joint`: one softmax over [source ; target]; `cross`: one softmax over the source and
            one over the target; `merged`: a softmax over the source, to which the mean of the
            target's values is added.
        source: weights over the source, (H, T, S).
        target: weights over the target so far, (H, T, T); for `merged` the shares of the mean,
            (1, T, T).
    """

    layer: int
    kind: str
    source: Tensor
    target: Tensor


@dataclass(frozen=True)
class PairWeights:
    """Attention weights of one sentence pair, and the logits (T, V) of the same pass."""

    source: tuple[SourceWeights, ...]
    target: tuple[TargetWeights, ...]
    logits: Tensor


@torch.no_grad()
def pair_weights(
    core: TranslationModel,
    src_tokens: Tensor,
    prev_output_tokens: Tensor,
    context: TokenContext = NO_CONTEXT,
) -> PairWeights:
    """Read the attention weights of a sentence pair in one teacher-forced pass.

    Weights are computed from the queries and keys of the model's own pass, in at least single
    precision; the pass itself is the usual one, with the usual kernels.

    Args:
        core: in evaluation mode.
        src_tokens: one sentence (1, S) without padding.
        prev_output_tokens: its shifted translation (1, T) without padding.
        context: of the sentence, (1,).

    Raises:
        ValueError: the model is in training mode, or there is padding or more than one sentence.
    """
    if core.training:
        raise ValueError("the model must be in evaluation mode")
    for tokens in (src_tokens, prev_output_tokens):
        if len(tokens) != 1 or bool(tokens.eq(core.padding_idx).any()):
            raise ValueError("the sentence must be alone and without padding")
    stack = core.stack
    if isinstance(stack, DecoderOnlyStack):
        layers, first = stack.layers, stack.target_layer + 1
    else:
        layers, first = stack.encoder_layers, 1
    # all outputs are requested, since the last layer is otherwise computed only in part
    with _recorded(layers) as of_source:
        state = core.encode(src_tokens, range(1, stack.source_layers + 1), context)
    with _recorded(stack.target_layers) as of_target:
        features = core.decode(prev_output_tokens, state)
    return PairWeights(
        tuple(
            # a source that sees the first target symbol comes before the symbol's own query
            SourceWeights(number, weights["attention"][0])
            for number, weights in enumerate(of_source, start=1)
        ),
        tuple(
            _target_weights(number, weights, src_tokens.size(1))
            for number, weights in enumerate(of_target, start=first)
        ),
        core.logits(features)[0],
    )


def weights_of(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """The attention weights (H, T, K) of one sentence.

    Args:
        query: (1, H, T, E).
        key: (1, H, K, E).
        mask: as for :func:`.attention.any_kernel`.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(wide) @ key.to(wide).transpose(-1, -2) * query.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~_boolean(mask, scores), float("-inf"))
    weights: Tensor = scores.softmax(-1)[0]
    return weights


def _boolean(mask: Tensor, scores: Tensor) -> Tensor:
    """A mask as a boolean tensor; on a GPU it may be torch's description of a causal mask."""
    if type(mask) is Tensor:
        return mask
    queries, keys = scores.shape[-2:]
    ones = torch.ones(queries, keys, dtype=torch.bool, device=scores.device)
    return ones.tril(keys - queries)


def _target_weights(layer: int, weights: dict[str, list[Tensor]], length: int) -> TargetWeights:
    """A layer's weights by the names of its attentions, given the source's length."""
    if "merged_attention" in weights:
        (source,) = weights["merged_attention"]
        steps = source.size(1)
        seen = source.new_ones(1, steps, steps).tril()
        return TargetWeights(layer, "merged", source, seen / seen.sum(-1, keepdim=True))
    if "cross_attention" in weights:
        (source,), (target,) = weights["cross_attention"], weights["attention"]
        return TargetWeights(layer, "cross", source, target)
    (both,) = weights["attention"]
    source, target = both.tensor_split([length], -1)
    return TargetWeights(layer, "joint", source, target)


@contextmanager
def _recorded(layers: Iterable[nn.Module]) -> Iterator[list[dict[str, list[Tensor]]]]:
    """For each layer, the weights of each of its attentions, by name, in the order of the calls."""
    records: list[dict[str, list[Tensor]]] = []
    with ExitStack() as stack:
        for layer in layers:
            records.append({})
            for name, part in layer.named_children():
                if isinstance(part, MultiheadAttention):
                    kept = records[-1].setdefault(name, [])
                    stack.enter_context(part.observed(_keeping(kept)))
        yield records


def _keeping(kept: list[Tensor]) -> Callable[[Tensor, Tensor, Tensor | None], None]:
    def observe(query: Tensor, key: Tensor, mask: Tensor | None) -> None:
        kept.append(weights_of(query, key, mask))

    return observe
