"""Each paper's way of measuring, so that a published row and ours are the same measure."""

from __future__ import annotations

from dataclasses import dataclass

from tdo_plugin.errors import UserError


@dataclass(frozen=True)
class Protocol:
    """How a paper decodes and scores. The defaults are this project's own.

    Attributes:
        beam: beam size.
        length_penalty: the exponent.
        penalty_form: `length`, the score divided by length**exponent (fairseq), or `gnmt`, divided
            by ((5 + length) / 6)**exponent (Wu et al., 2016).
        max_len_a: hypotheses have at most `max_len_a` * source length + `max_len_b` tokens.
        max_len_b: see `max_len_a`.
        checkpoints: which of a folder's checkpoints are averaged: `best-5`, `last-5`, `best-1`.
        lowercase: whether BLEU and chrF++ ignore case; TER always does. A data folder of lowercased
            text is scored so whatever the protocol says.
        tokenizer: SacreBLEU's tokenizer for every target language; `language` chooses by the
            target; `zh-ja-ko` does so for these three only, others get 13a; `moses` scores Moses
            tokens as they are, as MultEval does.
        skip_zeros: whether means leave out scores of exactly 0.
        pooled: whether the headline BLEU is of all test sets as one, not a mean over directions.
        perplexity: whether the perplexity of the validation set belongs to the table.
        detector: `fasttext` or `langdetect`; the paper's language detector.
        metrics: the paper's, by key.
        size_groups: whether directions are grouped by training size (High, Medium, Low).
        source: what of it the paper says and what it does not.
    """

    beam: int = 4
    length_penalty: float = 1.0
    penalty_form: str = "length"
    max_len_a: float = 0.0
    max_len_b: int = 200
    checkpoints: str = "best-1"
    lowercase: bool = False
    tokenizer: str = "language"
    skip_zeros: bool = False
    pooled: bool = False
    perplexity: bool = False
    detector: str = "fasttext"
    metrics: tuple[str, ...] = ("bleu", "chrf", "off")
    size_groups: bool = False
    source: str = ""


DEFAULT = Protocol(source="this project's own")

PROTOCOLS = {
    "tdo": Protocol(
        checkpoints="best-5",
        tokenizer="zh-ja-ko",
        skip_zeros=True,
        metrics=("bleu", "chrf", "bertscore", "comet", "off"),
        source="section 5.1, appendices G and H; the tokenizers, the means without zeros and the "
        "length limit are the authors' code's, which rounds scores to two decimals before zeros "
        "are left out; best-5 is TED-19's, OPUS-100 takes the best one (--average best-1), where "
        "BERTScore covers 69 and COMET 82 of the languages",
    ),
    "opus100": Protocol(
        length_penalty=0.6,
        penalty_form="gnmt",
        max_len_a=1.0,
        max_len_b=50,
        checkpoints="last-5",
        tokenizer="13a",
        detector="langdetect",
        metrics=("bleu", "off"),
        size_groups=True,
        source="section 5 names SacreBLEU and langdetect; beam, penalty, length and averaging are "
        "the authors' scripts'; the authors cut test sentences to 100 tokens, which is not done "
        "here",
    ),
    "tpdm": Protocol(
        beam=5,
        lowercase=True,
        tokenizer="zh-ja-ko",
        metrics=("bleu", "off"),
        source="decoding and lowercased BLEU as in the recipe of Wang et al. (2021) that the paper "
        "follows; it limits lengths in validation only, its test script gives no limit",
    ),
    "tlm": Protocol(
        length_penalty=0.6,
        penalty_form="gnmt",
        max_len_a=1.0,
        max_len_b=50,
        tokenizer="moses",
        pooled=True,
        perplexity=True,
        metrics=("bleu", "ter", "off", "perplexity"),
        source="section 4 names MultEval (tokenized BLEU and TER); beam and penalty are those of "
        "Vaswani et al. (2017), which it follows; de-en is lowercased by its data folder",
    ),
    "neurons": Protocol(
        length_penalty=0.6,
        tokenizer="13a",
        metrics=("bleu", "off"),
        source="section 4 names SacreBLEU; beam 4 and penalty 0.6 are the authors' README's",
    ),
}


def protocol(name: str | None) -> Protocol:
    """A paper's protocol by name; without one this project's own.

    Raises:
        UserError: there is none of that name.
    """
    if name is None:
        return DEFAULT
    if name not in PROTOCOLS:
        raise UserError(f"`--protocol` must be one of {', '.join(PROTOCOLS)}; it is {name}")
    return PROTOCOLS[name]
