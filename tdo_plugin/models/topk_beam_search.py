"""Beam search over each row's likeliest tokens instead of over the whole vocabulary.

With a beam of K, a sentence's 2 K best continuations are among the 2 K likeliest tokens of each of
its rows and the special symbols. At every step fairseq's generator masks and sorts the scores of
all V tokens, reorders all earlier output and synchronises with the device several times to find
ended hypotheses. Here a step sorts those few tokens and records the choices; the same hypotheses
are read from the records at the end.

Shapes: B sentences, n unfinished sentences, R = n * K rows, V vocabulary, N = 4 + 2 K columns.
"""

from inspect import signature
from typing import Any

import torch
from fairseq.search import BeamSearch
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator
from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.models.beam_history import BeamHistory

SPECIAL = 4  # fairseq's dictionaries begin with bos, pad, eos and unk
SOFTMAX = {
    "fairseq.models.fairseq_decoder",
    "fairseq.models.fairseq_model",
    "fairseq.models.transformer.transformer_base",
    "tdo_plugin.models.tdo_transformer",
}
ROWS = 128  # rows whose logits are computed at a time on a CPU, to stay near its cache
BLOCKS = 16  # tokens per group in the search for the likeliest
# Steps between checks on a GPU for finished sentences, since the check waits for the device.
PATIENCE = 8


class TopKGenerator(SequenceGenerator):
    """fairseq's generator, with its options and hypotheses but a faster search.

    In half precision many logits of a row are equal, and which of these tokens wins depends on the
    search, here and in fairseq. Forced prefixes and constraints are left to fairseq's search.
    """

    def _generate(
        self,
        sample: dict[str, Any],
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
        bos_token: int | None = None,
    ) -> list[list[dict[str, Tensor]]]:
        if prefix_tokens is not None or constraints is not None:
            hypotheses: list[list[dict[str, Tensor]]] = super()._generate(
                sample, prefix_tokens, constraints, bos_token
            )
            return hypotheses
        return self._topk_search(sample["net_input"], bos_token)

    def _topk_search(
        self, net_input: dict[str, Any], bos_token: int | None
    ) -> list[list[dict[str, Tensor]]]:
        src_tokens = net_input["src_tokens"]
        device, beams = src_tokens.device, self.beam_size
        last = min(int(self.max_len_a * src_tokens.size(1) + self.max_len_b), self.max_len - 1)
        assert self.min_len <= last, "min_len cannot be larger than max_len, please adjust these!"
        sources = self.model.forward_encoder(net_input)
        present = torch.arange(len(src_tokens), device=device)
        sources = self.model.reorder_encoder_out(sources, present.repeat_interleave(beams))
        states: list[dict[str, Any]] = [{}]
        tokens = src_tokens.new_full((len(present) * beams, last + 2), self.pad)
        tokens[:, 0] = self.eos if bos_token is None else bos_token
        notes = BeamHistory(len(present), beams, self.eos)
        ended = present.new_zeros(len(present))  # number of ended hypotheses of each sentence
        scores: Tensor | None = None
        for step in range(last + 1):
            columns, log_probs = self._columns(tokens[:, : step + 1], sources, states)
            self._rule_out(log_probs, step, last)
            best, chosen, rows = self._candidates(columns, log_probs, scores)
            ends = chosen.eq(self.eos) & best.ne(float("-inf"))
            notes.end(present, rows[:, :beams], best[:, :beams], ends[:, :beams])
            ended = ended + ends[:, :beams].sum(1)
            if step == last:
                break
            kept = unfinished(ended < beams, step)
            if kept is not None:
                if not len(kept):
                    break
                present, ended = present[kept], ended[kept]
                best, chosen, rows, ends = best[kept], chosen[kept], rows[kept], ends[kept]
            # the best unfinished: each row has one end, so at least K of 2 K continue
            places = torch.arange(ends.size(1), device=device)
            active = (places + ends * len(places)).topk(beams, 1, largest=False).indices
            scores, chosen, rows = (tensor.gather(1, active) for tensor in (best, chosen, rows))
            notes.go_on(present, rows, chosen, scores)
            if beams > 1 or kept is not None:
                first = torch.arange(len(present), device=device) if kept is None else kept
                order = (rows + first[:, None] * beams).flatten()
                tokens = tokens.index_select(0, order)
                self.model.reorder_incremental_state(states, order)
                sources = self.model.reorder_encoder_out(sources, order)
            tokens[:, step + 1] = chosen.flatten()
        hypotheses = notes.hypotheses(self.len_penalty if self.normalize_scores else 0.0)
        if not all(hypotheses):
            raise UserError("the model's scores must be numbers; for some sentences they are NaN")
        return hypotheses

    def _columns(
        self, tokens: Tensor, sources: list[Any], states: list[dict[str, Any]]
    ) -> tuple[Tensor, Tensor]:
        """Candidate tokens and their log-probabilities as the next token of each row, (R, N)."""
        decoder = self.model.single_model.decoder
        # before the first step the beams of a sentence are identical
        alike = 1 if states[0] else getattr(sources[0], "beams", 1)
        features, _ = decoder(
            tokens[::alike],
            encoder_out=sources[0],
            incremental_state=states[0],
            features_only=True,
        )
        last = features[:, -1]
        parts = [
            self._likeliest(decoder.output_layer(rows))
            for rows in last.split(ROWS if last.is_cpu else len(last))
        ]
        columns, log_probs = (torch.cat(part) for part in zip(*parts, strict=True))
        if alike > 1:
            columns, log_probs = (part.repeat_interleave(alike, 0) for part in (columns, log_probs))
        return columns, log_probs

    def _likeliest(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """For some rows: the special symbols, then the 2 K likeliest tokens."""
        if self.temperature != 1.0:
            logits = logits / self.temperature
        single = torch.promote_types(logits.dtype, torch.float32)  # as in fairseq
        log_probs = torch.log_softmax(logits, 1, dtype=single)
        values, likeliest = largest(log_probs[:, SPECIAL:], 2 * self.beam_size)
        special = torch.arange(SPECIAL, device=logits.device).expand(len(logits), -1)
        columns = torch.cat([special, likeliest + SPECIAL], 1)
        return columns, torch.cat([log_probs[:, :SPECIAL], values], 1)

    def _rule_out(self, log_probs: Tensor, step: int, last: int) -> None:
        """Apply fairseq's restrictions to the scores; columns 0 to 3 are the special symbols."""
        log_probs[:, self.pad] = float("-inf")
        log_probs[:, self.unk] -= self.unk_penalty
        if step >= last:
            log_probs[:, : self.eos] = float("-inf")
            log_probs[:, self.eos + 1 :] = float("-inf")
        elif step < self.min_len:
            log_probs[:, self.eos] = float("-inf")

    def _candidates(
        self, columns: Tensor, log_probs: Tensor, scores: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations (n, 2 K): scores, tokens, and the rows that they continue."""
        width, split = columns.size(1), (-1, self.beam_size, columns.size(1))
        each = log_probs.view(split)
        # the rows are identical in the first step, so the first is enough
        each = each[:, :1] if scores is None else each + scores[:, :, None]
        best, places = each.flatten(1).topk(2 * self.beam_size, 1)
        chosen = columns.view(split).flatten(1).gather(1, places)
        return best, chosen, places.div(width, rounding_mode="floor")


def unfinished(still: Tensor, step: int, most: float = 1.0) -> Tensor | None:
    """The unfinished sentences, if removing the finished ones pays; otherwise None.

    Args:
        still: whether each is unfinished, (n,).
        step: from 0.
        most: all stay if at least this share is unfinished.
    """
    if still.device.type != "cpu" and (step + 1) % PATIENCE:
        return None
    kept = still.nonzero()[:, 0]
    return None if len(kept) >= most * len(still) else kept


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest values of each row and their indices, sorted; a `topk` fast on CPUs.

    They are among the members of the `count` groups with the largest maxima.

    Args:
        values: (R, V).
        count: number of values per row.

    Returns:
        Values and indices, (R, count) each.
        Values and indices, (R, count) each.
    """
    groups = values.size(1) // BLOCKS
    if groups <= count:
        return values.topk(count, 1)
    whole = groups * BLOCKS
    # group g holds every groups-th token from g on, so that maxima are taken over whole rows
    grouped = values[:, :whole].unflatten(1, (BLOCKS, groups))
    chosen = grouped.amax(1).topk(count, 1, sorted=False).indices
    steps = torch.arange(0, whole, groups, device=values.device)
    rest = torch.arange(whole, values.size(1), device=values.device).expand(len(values), -1)
    places = torch.cat([(chosen[:, :, None] + steps).flatten(1), rest], 1)
    top = values.gather(1, places).topk(count, 1)
    return top.values, places.gather(1, top.indices)


def is_plain_softmax(model: Any) -> bool:
    """Whether probabilities are the plain softmax of the decoder's output."""
    modules = {type(part).get_normalized_probs.__module__ for part in (model, model.decoder)}
    plain = modules <= SOFTMAX and getattr(model.decoder, "adaptive_softmax", None) is None
    return plain and "features_only" in signature(model.decoder.forward).parameters


def use_topk(generator: Any) -> Any:
    """Make a generator search among each row's likeliest tokens, if possible.

    This covers plain beam search with a single model; any other generator stays unchanged.

    Args:
        generator: as a task built it. Changed in place.
    """
    plain = type(generator) is SequenceGenerator and type(generator.search) is BeamSearch
    if plain and _is_possible(generator):
        generator.__class__ = TopKGenerator
    return generator


def _is_possible(generator: SequenceGenerator) -> bool:
    """Whether no option needs tokens other than the likeliest."""
    ensemble, dictionary = generator.model, generator.tgt_dict
    return (
        type(ensemble) is EnsembleModel
        and ensemble.models_size == 1
        and ensemble.has_incremental
        and generator.repeat_ngram_blocker is None
        and generator.lm_model is None
        and generator.token_indices_to_suppress is None
        and not generator.match_source_len
        and max(dictionary.bos(), generator.pad, generator.eos, generator.unk) < SPECIAL
        and len(dictionary) >= SPECIAL + 2 * generator.beam_size
        and is_plain_softmax(ensemble.single_model)
    )
