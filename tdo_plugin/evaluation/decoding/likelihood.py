"""Log-likelihoods of sentence pairs, and of sources if the model was trained to predict them.

Shapes: B sentences, S source, T target, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.models.languages import tag_ids
from tdo_plugin.modules.losses.instrucl_loss import instruction_index
from tdo_plugin.modules.losses.reconstruction_loss import reconstruction_target


@dataclass(frozen=True)
class Likelihood:
    """Log-likelihoods of one sentence pair.

    Attributes:
        number: index of the sentence in its set.
        target: log P(target | source), in nats.
        target_tokens: number of target tokens, with the end symbol, without padding and tag.
        source: log P(source) after its tag, in nats; None if not computed.
        source_tokens: number of source tokens.
    """

    number: int
    target: float
    target_tokens: int
    source: float | None = None
    source_tokens: int = 0


def likelihoods(
    models: Sequence[Any], task: Any, batches: Iterable[Any], device: torch.device, source: bool
) -> Iterator[Likelihood]:
    """The likelihoods of each sentence, in the order of the batches.

    Args:
        models: models in evaluation mode; the probabilities of several models are averaged.
        task: the task of the direction.
        batches: batches of its sentences.
        device: the device of the models.
        source: whether to also score sources, each token given the previous ones.
    """
    from fairseq import utils

    for batch in batches:
        sample = utils.move_to_cuda(batch) if device.type == "cuda" else batch
        with torch.inference_mode():
            parts = [_target(models, task, sample)]
            if source:
                parts.append(_source(models, task, sample["net_input"]))
        rows = zip(*(tensor.tolist() for pair in parts for tensor in pair), strict=True)
        for number, row in zip(sample["id"].tolist(), rows, strict=True):
            yield Likelihood(number, *row)


def perplexity(total: float, tokens: int) -> float:
    """exp of the mean negative log-likelihood per token; infinite on overflow."""
    try:
        return math.exp(-total / tokens)
    except OverflowError:
        return math.inf


def _target(models: Sequence[Any], task: Any, sample: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Log-likelihood and number of tokens of each target, both (B,)."""
    from tdo_plugin.models.forced_tag import forces_tag

    target = sample["target"]
    kept = target.ne(task.target_dictionary.pad())
    if forces_tag(task):
        kept.scatter_(1, instruction_index(~kept)[:, None], False)
    each = [
        model.get_normalized_probs(model(**sample["net_input"]), log_probs=True) for model in models
    ]
    return _summed(each, target, kept)


def _source(models: Sequence[Any], task: Any, fed: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Log-likelihood and number of tokens of each source after its tag, both (B,)."""
    pad = task.source_dictionary.pad()
    tags = torch.tensor(tag_ids(task), device=fed["src_tokens"].device)
    tokens = reconstruction_target(fed["src_tokens"], "lm", tags, pad)
    each = []
    for model in models:
        last = model.core.spec.source_layers
        state = model.source_state(fed, (last,))
        logits = model.core.logits(
            model.core.stack.readout(state.layer_outputs[last], state.context)
        )
        each.append(model.get_normalized_probs((logits, None), log_probs=True))
    return _summed(each, tokens, tokens.ne(pad))


def _summed(each: Sequence[Tensor], tokens: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """Summed mixed log-probabilities of kept tokens (B, L), from (B, L, V) of each model."""
    mixed = torch.stack(list(each)).logsumexp(0) - math.log(len(each))
    chosen = mixed.gather(-1, tokens[..., None])[..., 0].double()
    return chosen.masked_fill(~kept, 0).sum(1), kept.sum(1)
