"""The search of Hugging Face transformers as that of `tdo translate`: tags, and how they count.

Shapes: B sentences, R = B * beams rows, S source, T target, V vocabulary.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import torch
from torch import Tensor
from transformers import (
    ForcedBOSTokenLogitsProcessor,
    ForcedEOSTokenLogitsProcessor,
    GenerationMixin,
    LogitsProcessor,
    LogitsProcessorList,
)


class ForcedToken(LogitsProcessor):
    """Forces a token at one position of each target; its log-probability counts.

    It counts as 0 if the token was excluded, as an end symbol before the minimum length.

    Args:
        tokens: the token ids (B,), or (1,) for all sentences.
        position: from 0.
    """

    def __init__(self, tokens: Tensor, position: int) -> None:
        self.tokens, self.position = tokens, position

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (R, V) of the next token of targets (R, T)."""
        if input_ids.size(1) != self.position:
            return scores
        tokens = self.tokens.to(scores.device).repeat_interleave(len(scores) // len(self.tokens))
        forced, others = tokens[:, None], torch.full_like(scores, -torch.inf)
        own = scores.gather(1, forced)
        return others.scatter(1, forced, own.masked_fill(own.isneginf(), 0.0))


class TdoGenerationMixin(GenerationMixin):
    """`generate` for models whose configuration names languages and tags.

    As in `tdo translate`, the log-probabilities of the target's tag, and of an end symbol that is
    forced at the maximum length, count in scores.
    """

    def generate(
        self,
        inputs: Tensor | None = None,
        generation_config: Any = None,
        logits_processor: LogitsProcessorList | None = None,
        **kwargs: Any,
    ) -> Any:
        """As in transformers; each target begins with its language's tag if the model has such.

        Raises:
            ValueError: a source lacks its tag; the kind of search is not supported.
        """
        tokens = inputs if inputs is not None else kwargs.get("input_ids")
        check_tagged(self.config, tokens)
        side = self.config.target_tag
        if side is not None and kwargs.get("forced_bos_token_id") is None:
            ids = languages(self.config, side, kwargs.get(f"{side}_lang_id"), tokens)
            first = ForcedToken(ids.new_tensor(self.config.tag_ids)[ids], 1)
            logits_processor = LogitsProcessorList([first, *(logits_processor or ())])
        read = signature(self.forward).parameters
        for name in {"src_lang_id", "tgt_lang_id"} - {*read}:
            kwargs.pop(name, None)
        return super().generate(inputs, generation_config, logits_processor, **kwargs)

    def _get_logits_processor(self, *args: Any, **kwargs: Any) -> LogitsProcessorList:
        return LogitsProcessorList(map(_counted, super()._get_logits_processor(*args, **kwargs)))


def _counted(part: LogitsProcessor) -> LogitsProcessor:
    """A part of a search, with the log-probability of the token that it forces."""
    if isinstance(part, ForcedBOSTokenLogitsProcessor):
        return ForcedToken(torch.as_tensor(part.bos_token_id).flatten(), 1)
    if isinstance(part, ForcedEOSTokenLogitsProcessor):
        return ForcedToken(torch.as_tensor(part.eos_token_id).flatten()[:1], part.max_length - 1)
    return part


def check_tagged(config: Any, tokens: Tensor | None) -> None:
    """Raise ValueError unless every source (B, S) has a tag, if the model was trained with them."""
    if tokens is None or config.source_tag is None:
        return
    tagged = torch.isin(tokens, tokens.new_tensor(config.tag_ids)).any(1)
    if not bool(tagged.all()):
        raise ValueError(
            f"`input_ids` must have a language tag ({config.source_tag}_lang) in every row, as the "
            f"tokenizer adds it; row {int(tagged.int().argmin())} has none"
        )


def languages(config: Any, side: str, given: Tensor | None, tokens: Tensor | None) -> Tensor:
    """The index of each sentence's language (B,), from 0.

    Args:
        config: of the model.
        side: `src` or `tgt`.
        given: the indices, if given.
        tokens: sources (B, S), whose tags are read otherwise.

    Raises:
        ValueError: indices are not given, and the tags do not say them.
    """
    if given is not None:
        return given.flatten()
    if tokens is not None and config.source_tag == side:
        tagged = (tokens[:, :, None] == tokens.new_tensor(config.tag_ids)).any(1)
        if bool(tagged.any(1).all()):
            return tagged.int().argmax(1)
    raise ValueError(
        f"`{side}_lang_id` must be the index of each sentence's language in {config.languages}, "
        "as the tokenizer returns it; it is missing"
    )
