"""Decoding options, as one frozen record for all workers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.errors import UserError

PENALTY_FORMS = ("length", "gnmt")
NUMBERS = {
    "length_penalty": "--lenpen",
    "unk_penalty": "--unkpen",
    "max_len_a": "--max-len-a",
    "temperature": "--temperature",
}


@dataclass(frozen=True)
class DecodingOptions:
    """The model, the search, and the batch size.

    Attributes:
        checkpoints: the model; several checkpoints form an ensemble.
        beam: beam size.
        length_penalty: exponent of the length penalty.
        penalty_form: `length` or `gnmt` (see `length_penalty.py`).
        max_len_a: hypotheses have at most `max_len_a` * source length + `max_len_b` tokens.
        max_len_b: see `max_len_a`.
        min_len: minimum number of tokens of hypotheses.
        unk_penalty: penalty subtracted from the score of the unknown word.
        no_repeat_ngram_size: n-grams of this size are not repeated; 0: no limit.
        temperature: divisor of the logits.
        sampling: sample tokens instead of beam search.
        sampling_topk: sample from this number of most likely tokens; -1: from all.
        free_tag: count a forced target tag as 0 in hypothesis scores.
        seed: seed of sampling, the same for every direction.
        max_tokens: tokens per batch including padding; None: no limit.
        batch_size: sentences per batch; None: no limit.
        precision: `fp32`, `fp16`, `bf16`, or `int8` (on a CPU).
    """

    checkpoints: tuple[Path, ...]
    beam: int = 4
    length_penalty: float = 1.0
    penalty_form: str = "length"
    max_len_a: float = 0.0
    max_len_b: int = 200
    min_len: int = 1
    unk_penalty: float = 0.0
    no_repeat_ngram_size: int = 0
    temperature: float = 1.0
    sampling: bool = False
    sampling_topk: int = -1
    free_tag: bool = False
    seed: int = 1
    max_tokens: int | None = 4000
    batch_size: int | None = None
    precision: str = "fp32"

    def check(self) -> None:
        """Raise UserError for an invalid value."""
        least = {"beam": 1, "max_len_a": 0, "max_len_b": 1, "min_len": 1, "seed": 0}
        least |= {"no_repeat_ngram_size": 0, "max_tokens": 1, "batch_size": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and value < bound:
                option = name.replace("_", "-")
                raise UserError(f"`--{option}` must be at least {bound}; it is {value}")
        for name, option in NUMBERS.items():
            if not math.isfinite(getattr(self, name)):
                raise UserError(f"`{option}` must be a number; it is {getattr(self, name)}")
        if self.seed >= 2**63:
            raise UserError(f"`--seed` must be below 2**63; it is {self.seed}")
        if self.temperature <= 0:
            raise UserError(f"`--temperature` must be above 0; it is {self.temperature}")
        if self.min_len > self.max_len_b:
            raise UserError(
                f"`--min-len` must be at most --max-len-b, {self.max_len_b}; it is {self.min_len}"
            )
        if self.sampling_topk != -1 and not (self.sampling and self.sampling_topk > 0):
            raise UserError(
                "`--sampling-topk` must be above 0 and used with --sampling; "
                f"it is {self.sampling_topk}"
            )
