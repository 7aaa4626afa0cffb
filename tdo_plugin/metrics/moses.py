"""The Moses scripts for tokenized or truecased text, based on the Python package sacremoses.

Normalization, detokenization, truecasing and detruecasing give the same results as Moses's Perl
scripts. The tokenizer differs in three cases: the full stop after an abbreviation or a single
letter at the end of a line stays attached, while the current `tokenizer.perl` splits it (about one
line in a thousand); letters beyond Unicode's first plane, such as mathematical letters, are split
like signs; and Catalan, Irish, Somali and Tetun have no special rules for apostrophes and middle
dots. For numbers that match Moses to the last digit, use the Perl script.

Moses cannot segment Chinese words, so jieba does, see `metrics.chinese`. Truecasing is in
`metrics.truecasing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import regex

from tdo_plugin.errors import UserError
from tdo_plugin.metrics import chinese
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.metrics.truecasing import train_truecaser, truecase

__all__ = [
    "detokenize",
    "detruecase",
    "normalize",
    "signature",
    "tokenize",
    "train_truecaser",
    "truecase",
]

NON_PRINTING = regex.compile(r"\p{C}")
QUOTE_RULES = ("cs", "de", "en", "es", "fr")  # languages that sacremoses treats as Perl does
COLON_IN_WORDS = ("fi", "sv")
CJK = ("ja", "ko", "zh")


def normalize(lines: Iterable[str], language: str) -> list[str]:
    """`normalize-punctuation.perl -l language`, then `remove-non-printing-char.perl`.

    Leading and trailing spaces are removed. Letters that are missing from the tables of old Perl
    versions are kept. Chinese is not changed, since the scripts, which do not support it, would
    change its quotes.

    Raises:
        UserError: sacremoses is not installed.
    """
    code = canonical(language)
    if code == "zh":
        return list(lines)
    rules = _punctuation_rules(code)
    return [_normalized(line, rules) for line in lines]


def tokenize(
    lines: Iterable[str], language: str, aggressive_hyphens: bool = False, jieba: bool = True
) -> list[str]:
    """`tokenizer.perl -l language`: tokens separated by spaces, with special characters escaped.

    Args:
        lines: plain text.
        language: any code of the language; Chinese is segmented by jieba, without escapes.
        aggressive_hyphens: `-a`, hyphens between letters become separate tokens, `@-@`.
        jieba: segment Chinese by jieba; otherwise Moses only splits signs, not words.

    Raises:
        UserError: sacremoses, or for Chinese jieba, is not installed.
    """
    code = canonical(language)
    if code == "zh" and jieba:
        return chinese.words(lines)
    return [_tokenized(line, code, aggressive_hyphens) for line in lines]


def detokenize(lines: Iterable[str], language: str) -> list[str]:
    """`detokenizer.perl -l language`, which also reverts escapes and split hyphens.

    In Chinese, spaces next to Chinese characters are removed as well.

    Raises:
        UserError: sacremoses is not installed.
    """
    code = canonical(language)
    detokenizer = _tool("MosesDetokenizer", code)
    result = [detokenizer.detokenize(line.split()) for line in lines]
    return chinese.joined(result) if code == "zh" else result


def detruecase(lines: Iterable[str]) -> list[str]:
    """`detruecase.perl`: capitalise the first word of each sentence in tokenized text.

    Raises:
        UserError: sacremoses is not installed.
    """
    detruecaser = _tool("MosesDetruecaser")
    return [detruecaser.detruecase(line, return_str=True) for line in lines]


def signature(language: str) -> str:
    """The tokenizer's name: the language's rules and the version of sacremoses, or jieba.

    Raises:
        UserError: the package is not installed.
    """
    code = canonical(language)
    if code == "zh":
        return chinese.signature()
    return f"moses-{code}-sacremoses-{_sacremoses().__version__}"


def _normalized(line: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    text = f"{line}\n"  # Perl sees the line break, and one rule moves a full stop before it
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    normalized: str = NON_PRINTING.sub(" ", text).strip()
    return normalized


@cache
def _punctuation_rules(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    normalizer = _sacremoses().MosesPunctNormalizer
    if language in QUOTE_RULES:
        rules = normalizer(language, perl_parity=True).substitutions
    else:
        # without another rule, Perl moves quotes as in German, while sacremoses does not
        german = normalizer("de", norm_numbers=False, perl_parity=True)
        rules = [*german.substitutions, *normalizer.OTHER]
    # the Perl script reads bytes, so digits and spaces are ASCII
    return tuple((re.compile(pattern, re.ASCII), replacement) for pattern, replacement in rules)


@lru_cache(maxsize=2**16)
def _tokenized(line: str, language: str, aggressive_hyphens: bool) -> str:
    # cached by line, as references are tokenized again for every system
    tokenizer = _tokenizer(language)
    return str(tokenizer.tokenize(line, aggressive_hyphens, return_str=True))


@cache
def _tokenizer(language: str) -> Any:
    tokenizer = _tool("MosesTokenizer", language)
    if language in COLON_IN_WORDS:
        # sacremoses lacks the rule for EU:ssa: a colon before a lowercase letter stays in the word
        letters, small = tokenizer.IsAlnum, tokenizer.IsLower
        parted = rf"([^{letters}\s.:'`,\-]|:(?![{small}]))"
        tokenizer.PAD_NOT_ISALNUM = re.compile(parted), r" \1 "
    if language in CJK:
        # sacremoses treats stops and brackets of these languages as letters
        tokenizer.PAD_NOT_ISALNUM = regex.compile(r"([^\p{Alnum}\s.'`,\-])"), r" \1 "
    # sacremoses builds these sets of tens of thousands of letters at every stop in a sentence
    tokenizer.islower = frozenset(tokenizer.IsLower).issuperset
    alphabetic = frozenset(tokenizer.IsAlpha)
    tokenizer.isanyalpha = lambda text: not alphabetic.isdisjoint(text)
    return tokenizer


@cache
def _tool(name: str, language: str | None = None) -> Any:
    # as in Perl, languages without rules use the English rules
    tool = getattr(_sacremoses(), name)
    return tool() if language is None else tool(lang=language)


def _sacremoses() -> Any:
    try:
        import sacremoses
    except ImportError:
        raise UserError(
            "`sacremoses` must be installed for Moses tokenization (pip install sacremoses); it is "
            "not"
        ) from None
    return sacremoses
