"""The evaluation protocol of each paper, so that published rows and ours are comparable."""

from __future__ import annotations

from dataclasses import dataclass

from tdo_plugin.errors import UserError


@dataclass(frozen=True)
class Protocol:
    """How a paper decodes and scores. The defaults are this project's.

    Attributes:
        beam: beam size.
        length_penalty: exponent of the length penalty.
        penalty_form: `length` divides scores by length**exponent (fairseq), `gnmt` by
            ((5 + length) / 6)**exponent (Wu et al., 2016).
        max_len_a: hypotheses have at most `max_len_a` * source length + `max_len_b` tokens.
        max_len_b: see `max_len_a`.
        checkpoints: which of a folder's checkpoints to average: `best-5`, `last-5`, `best-1`.
        lowercase: whether BLEU and chrF++ ignore case, as TER always does, and as they do for data
            folders with lowercased text.
        tokenizer: SacreBLEU's tokenizer for every target language; `language` chooses by the
            target; `zh-ja-ko` does so for these three only, with 13a for others; `moses` scores
            Moses tokens as they are, as MultEval does.
        skip_zeros: whether means exclude scores of exactly 0.
        pooled: whether the headline BLEU is computed on all test sets as one, instead of a mean
            over directions.
        perplexity: whether to report the perplexity of validation sets.
        detector: the paper's language detector, `fasttext` or `langdetect`.
        metrics: keys of the paper's metrics.
        size_groups: whether directions are grouped by training size (High, Medium, Low).
        source: which of these settings the paper states, and where the others come from.
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


DEFAULT = Protocol(source="this project's")

PROTOCOLS = {
    "tdo": Protocol(
        checkpoints="best-5",
        tokenizer="zh-ja-ko",
        skip_zeros=True,
        metrics=("bleu", "chrf", "bertscore", "comet", "off"),
        source="section 5.1, appendices G and H; the tokenizers, the means without zeros and the "
        "length limit are from the authors' code, which rounds scores to two decimals before it "
        "excludes zeros; best-5 is for TED-19, OPUS-100 uses the best checkpoint (--average "
        "best-1), and there BERTScore covers 69 and COMET 82 of the languages",
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
        "from the authors' scripts; the authors truncate test sentences to 100 tokens, which is "
        "not done here",
    ),
    "tpdm": Protocol(
        beam=5,
        lowercase=True,
        tokenizer="zh-ja-ko",
        metrics=("bleu", "off"),
        source="decoding and lowercased BLEU as in the recipe of Wang et al. (2021) that the paper "
        "follows; it limits lengths only in validation, its test script has no limit",
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
        "Vaswani et al. (2017), which the paper follows; de-en is lowercased in its data folder",
    ),
    "neurons": Protocol(
        length_penalty=0.6,
        tokenizer="13a",
        metrics=("bleu", "off"),
        source="section 4 names SacreBLEU; beam 4 and penalty 0.6 are in section 4.3",
    ),
}


def protocol(name: str | None) -> Protocol:
    """A paper's protocol by name, or this project's for None.

    Raises:
        UserError: an unknown name.
    """
    if name is None:
        return DEFAULT
    if name not in PROTOCOLS:
        raise UserError(f"`--protocol` must be one of {', '.join(PROTOCOLS)}; it is {name}")
    return PROTOCOLS[name]
