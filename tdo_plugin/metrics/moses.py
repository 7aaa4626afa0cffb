"""The Moses scripts for text that is tokenized or truecased, in sacremoses' Python form.

Normalizing, detokenizing, truecasing and detruecasing give what Moses's Perl scripts give. The
tokenizer differs in three places: the full stop after an abbreviation or a single letter that ends
the line stays with it, where today's `tokenizer.perl` parts them (about one line in a thousand),
letters beyond Unicode's first plane, such as mathematical ones, are parted like signs, and Catalan,
Irish, Somali and Tetun lack rules of their own for apostrophes and middle dots. Numbers that must
be Moses's own to the last digit need the Perl script.

Moses cannot part the words of Chinese: for it tokens are jieba's, see `metrics.chinese`. The way
into truecased text is in `metrics.truecasing`.
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

    Spaces at a line's ends go. A letter that today's tables know and an old Perl's did not is kept.
    Chinese stays as it is, since the scripts, which do not know it, would change its quotes.

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
    """`tokenizer.perl -l language`: tokens with a space between them, special signs escaped.

    Args:
        lines: plain text.
        language: by any of its codes; Chinese gets jieba's words, without escapes.
        aggressive_hyphens: `-a`, hyphens between letters become tokens of their own, `@-@`.
        jieba: for Chinese; without it Chinese gets Moses' tokens, which part signs and not words.

    Raises:
        UserError: sacremoses, or for Chinese jieba, is not installed.
    """
    code = canonical(language)
    if code == "zh" and jieba:
        return chinese.words(lines)
    return [_tokenized(line, code, aggressive_hyphens) for line in lines]


def detokenize(lines: Iterable[str], language: str) -> list[str]:
    """`detokenizer.perl -l language`, which also undoes the escapes and parted hyphens.

    In Chinese spaces beside Chinese signs go as well.

    Raises:
        UserError: sacremoses is not installed.
    """
    code = canonical(language)
    detokenizer = _tool("MosesDetokenizer", code)
    result = [detokenizer.detokenize(line.split()) for line in lines]
    return chinese.joined(result) if code == "zh" else result


def detruecase(lines: Iterable[str]) -> list[str]:
    """`detruecase.perl`: a capital at the beginning of each sentence of tokenized text.

    Raises:
        UserError: sacremoses is not installed.
    """
    detruecaser = _tool("MosesDetruecaser")
    return [detruecaser.detruecase(line, return_str=True) for line in lines]


def signature(language: str) -> str:
    """Names the tokenizer: the language's rules and sacremoses' version, or jieba's.

    Raises:
        UserError: it is not installed.
    """
    code = canonical(language)
    if code == "zh":
        return chinese.signature()
    return f"moses-{code}-sacremoses-{_sacremoses().__version__}"


def _normalized(line: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    text = f"{line}\n"  # Perl sees it, and one rule moves a full stop that it follows
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
        # Perl moves quotes as in German wherever it has no other rule, sacremoses nowhere
        german = normalizer("de", norm_numbers=False, perl_parity=True)
        rules = [*german.substitutions, *normalizer.OTHER]
    # the Perl script reads bytes: a digit or a space is one of ASCII
    return tuple((re.compile(pattern, re.ASCII), replacement) for pattern, replacement in rules)


@lru_cache(maxsize=2**16)
def _tokenized(line: str, language: str, aggressive_hyphens: bool) -> str:
    # cached by line: the references come again with every system
    tokenizer = _tokenizer(language)
    return str(tokenizer.tokenize(line, aggressive_hyphens, return_str=True))


@cache
def _tokenizer(language: str) -> Any:
    tokenizer = _tool("MosesTokenizer", language)
    if language in COLON_IN_WORDS:
        # sacremoses lacks the rule for EU:ssa: a colon before a small letter stays in its word
        letters, small = tokenizer.IsAlnum, tokenizer.IsLower
        parted = rf"([^{letters}\s.:'`,\-]|:(?![{small}]))"
        tokenizer.PAD_NOT_ISALNUM = re.compile(parted), r" \1 "
    if language in CJK:
        # sacremoses takes the stops and brackets of these languages for letters
        tokenizer.PAD_NOT_ISALNUM = regex.compile(r"([^\p{Alnum}\s.'`,\-])"), r" \1 "
    # sacremoses makes these sets of ten thousands of letters at every stop within a sentence
    tokenizer.islower = frozenset(tokenizer.IsLower).issuperset
    alphabetic = frozenset(tokenizer.IsAlpha)
    tokenizer.isanyalpha = lambda text: not alphabetic.isdisjoint(text)
    return tokenizer


@cache
def _tool(name: str, language: str | None = None) -> Any:
    # a language without rules of its own gets the English ones, as in Perl
    tool = getattr(_sacremoses(), name)
    return tool() if language is None else tool(lang=language)


def _sacremoses() -> Any:
    try:
        import sacremoses
    except ImportError:
        raise UserError(
            "`sacremoses` must be installed for Moses tokens (pip install sacremoses); it is not"
        ) from None
    return sacremoses
