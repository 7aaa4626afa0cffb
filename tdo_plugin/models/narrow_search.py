"""Beam search over each row's likeliest tokens instead of over the whole vocabulary.

With a beam of K, a sentence's 2 K best continuations are among the 2 K likeliest tokens of each
of its rows and the special symbols. fairseq's generator normalises, cleans and sorts the scores of
all V tokens at every step; here it gets those few, and the same hypotheses come out.

Shapes: B sentences, R = B * K rows, V vocabulary, N = 4 + 2 K columns.
"""

from typing import Any

import torch
from fairseq.search import BeamSearch
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator
from torch import Tensor

SPECIAL = 4  # fairseq's dictionaries begin with bos, pad, eos and unk
SOFTMAX = {
    "fairseq.models.fairseq_decoder",
    "fairseq.models.fairseq_model",
    "fairseq.models.transformer.transformer_base",
    "tdo_plugin.models.tdo_transformer",
}
ROWS = 128  # of which the logits are made at a time on a CPU, to stay near its cache
BLOCKS = 16  # tokens that are compared at once when looking for the likeliest


class _Columns:
    """The token in each column of the last step's scores, (R, N)."""

    tokens: Tensor


class _NarrowEnsemble(EnsembleModel):
    """One model, whose log-probabilities are given for the columns only."""

    def __init__(self, model: Any, count: int, columns: _Columns) -> None:
        super().__init__([model])
        self._count, self._columns = count, columns

    @torch.jit.unused
    def forward_decoder(
        self,
        tokens: Tensor,
        encoder_outs: list[Any],
        incremental_states: list[dict[str, Any]],
        temperature: float = 1.0,
    ) -> tuple[Tensor, None]:
        """Log-probabilities of the next token (R, N), special symbols first."""
        decoder = self.single_model.decoder
        # before the first step the beams of a sentence are all alike
        alike = 1 if incremental_states[0] else getattr(encoder_outs[0], "beams", 1)
        features, _ = decoder(
            tokens[::alike],
            encoder_out=encoder_outs[0],
            incremental_state=incremental_states[0],
            features_only=True,
        )
        last = features[:, -1]
        parts = [
            self._narrow(decoder.output_layer(rows), temperature)
            for rows in last.split(ROWS if last.is_cpu else len(last))
        ]
        found, scores = (torch.cat(part) for part in zip(*parts, strict=True))
        if alike > 1:
            found, scores = (part.repeat_interleave(alike, 0) for part in (found, scores))
        self._columns.tokens = found
        return scores, None

    def _narrow(self, logits: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """Tokens and log-probabilities of some rows' columns, of logits that it overwrites."""
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if temperature != 1.0:
            logits = logits / temperature
        values, found = largest(logits[:, SPECIAL:], self._count)
        special = torch.arange(SPECIAL, device=logits.device).expand(len(logits), -1)
        narrow = torch.cat([logits[:, :SPECIAL], values], 1)
        # as logsumexp, but with the maximum that is known and without a copy of the logits
        top = narrow.amax(1, keepdim=True)
        total = logits.sub_(top).exp_().sum(1, keepdim=True).log_()
        return torch.cat([special, found + SPECIAL], 1), narrow - top - total


class _NarrowBeamSearch(BeamSearch):
    """fairseq's, with columns turned back into tokens."""

    def __init__(self, dictionary: Any, columns: _Columns) -> None:
        super().__init__(dictionary)
        self._columns = columns

    @torch.jit.unused
    def step(
        self, step: int, lprobs: Tensor, scores: Tensor | None, *more: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, tokens and rows of the best continuations, each (B, 2 K)."""
        best, columns, beams = super().step(step, lprobs, scores, *more)
        sentences, rows, width = lprobs.shape
        places = beams * width + columns
        tokens = self._columns.tokens.view(sentences, rows * width).gather(1, places)
        return best, tokens, beams


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row, sorted, and where they are; as `topk`, but faster on a CPU.

    They are among the members of the `count` groups with the largest maxima.

    Args:
        values: (R, V).
        count: how many.

    Returns:
        Values and indices, (R, count) each.
    """
    groups = values.size(1) // BLOCKS
    if groups <= count:
        return values.topk(count, 1)
    whole = groups * BLOCKS
    # group g holds every groups-th token from g on, so that maxima are taken along whole rows
    grouped = values[:, :whole].unflatten(1, (BLOCKS, groups))
    chosen = grouped.amax(1).topk(count, 1, sorted=False).indices
    steps = torch.arange(0, whole, groups, device=values.device)
    rest = torch.arange(whole, values.size(1), device=values.device).expand(len(values), -1)
    places = torch.cat([(chosen[:, :, None] + steps).flatten(1), rest], 1)
    found = values.gather(1, places).topk(count, 1)
    return found.values, places.gather(1, found.indices)


def _is_plain_softmax(model: Any) -> bool:
    """Whether probabilities are the softmax of the decoder's output, as here and in fairseq."""
    own = {type(part).get_normalized_probs.__module__ for part in (model, model.decoder)}
    return own <= SOFTMAX and getattr(model.decoder, "adaptive_softmax", None) is None


def narrow(generator: SequenceGenerator) -> SequenceGenerator:
    """Let a generator search among each row's likeliest tokens, where that is possible.

    It is for plain beam search with one model and no forced prefix; any other stays as it is.

    Args:
        generator: as a task built it. It is changed in place.
    """
    ensemble, dictionary = generator.model, generator.tgt_dict
    count = 2 * generator.beam_size
    plain = (
        type(generator) is SequenceGenerator
        and type(generator.search) is BeamSearch
        and type(ensemble) is EnsembleModel
        and ensemble.models_size == 1
        and ensemble.has_incremental
        and generator.repeat_ngram_blocker is None
        and generator.lm_model is None
        and generator.token_indices_to_suppress is None
        and max(dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()) < SPECIAL
        and len(dictionary) >= SPECIAL + count
        and _is_plain_softmax(ensemble.single_model)
    )
    if plain:
        columns = _Columns()
        generator.model = _NarrowEnsemble(ensemble.single_model, count, columns)
        generator.model.eval()
        generator.search = _NarrowBeamSearch(dictionary, columns)
        generator.vocab_size = SPECIAL + count
    return generator
