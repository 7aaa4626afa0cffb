"""SacreBLEU and chrF++ with their signatures, the tokeniser chosen by the target language."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

# languages written without spaces; the second entry is used where the first one's package is
# missing, and the signature shows which it was
TOKENIZERS = {
    "zh": (("zh", None),),
    "ja": (("ja-mecab", "MeCab"), ("char", None)),
    "ko": (("ko-mecab", "mecab_ko"), ("char", None)),
    "th": (("char", None),),
    "km": (("char", None),),
    "my": (("char", None),),
    "lo": (("char", None),),
}


@dataclass(frozen=True)
class Score:
    """Corpus scores from 0 to 100 and how they were computed."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def tokenizer_for(language: str) -> str:
    """SacreBLEU's tokeniser for a target language (`zh_CN` counts as `zh`)."""
    for name, package in TOKENIZERS.get(language.split("_")[0].lower(), ()):
        if package is None or importlib.util.find_spec(package) is not None:
            return name
    return "13a"


def score(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Score:
    """BLEU (Post, 2018) and chrF++ (chrF with words up to bigrams; Popović, 2017) of a test set.

    Raises:
        ValueError: the two differ in length.
    """
    from sacrebleu.metrics import BLEU, CHRF

    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
    bleu, chrf = BLEU(tokenize=tokenizer_for(language)), CHRF(word_order=2)
    return Score(
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )
