"""The Moses scripts for text that was tokenized or truecased, in sacremoses' Python form.

Detokenizing and detruecasing give what Moses's Perl scripts give. The tokenizer differs in two
places: the full stop after an abbreviation or a single letter that ends the line stays with it,
where today's `tokenizer.perl` parts them (about one line in a thousand), and letters beyond
Unicode's first plane, such as mathematical ones, are parted like signs. Numbers that must be
Moses's own to the last digit need the Perl script.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical


def tokenize(lines: Iterable[str], language: str) -> list[str]:
    """`tokenizer.perl -l language`: tokens with a space between them, special signs escaped.

    Raises:
        UserError: sacremoses is not installed.
    """
    return [_tokenized(line, canonical(language)) for line in lines]


def detokenize(lines: Iterable[str], language: str) -> list[str]:
    """`detokenizer.perl -l language`, which also undoes the escapes.

    Raises:
        UserError: sacremoses is not installed.
    """
    detokenizer = _tool("MosesDetokenizer", canonical(language))
    return [detokenizer.detokenize(line.split()) for line in lines]


def detruecase(lines: Iterable[str]) -> list[str]:
    """`detruecase.perl`: a capital at the beginning of each sentence of tokenized text.

    Raises:
        UserError: sacremoses is not installed.
    """
    detruecaser = _tool("MosesDetruecaser")
    return [detruecaser.detruecase(line, return_str=True) for line in lines]


def signature(language: str) -> str:
    """Names the tokenizer: the language's rules and sacremoses' version.

    Raises:
        UserError: sacremoses is not installed.
    """
    return f"moses-{canonical(language)}-sacremoses-{_sacremoses().__version__}"


@lru_cache(maxsize=2**16)
def _tokenized(line: str, language: str) -> str:
    # cached by line: the references come again with every system
    return str(_tool("MosesTokenizer", language).tokenize(line, return_str=True))


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
