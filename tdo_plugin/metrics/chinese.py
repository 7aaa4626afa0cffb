"""Segmentation of Chinese text into words by jieba, and its inverse."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

from tdo_plugin.errors import UserError

# ideographs, kana and full-width signs, and signs that Latin text also has but that Chinese writes
# without spaces: middle dot, em dash, curly quotes, ellipsis
_CHINESE = (
    "\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31c0-\u9fff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U00020000-\U0003ffff\u00b7\u2014\u2018\u2019\u201c\u201d\u2026"
)
_SPACE_BESIDE = re.compile(rf"(?<=[{_CHINESE}]) | (?=[{_CHINESE}])")


def words(lines: Iterable[str]) -> list[str]:
    """`python -m jieba -d ' '`: words separated by one space; other spaces are lost.

    Raises:
        UserError: jieba is not installed.
    """
    cut = _segmenter().cut
    return [" ".join(" ".join(cut(line)).split()) for line in lines]


def joined(lines: Iterable[str]) -> list[str]:
    """Lines without the spaces next to Chinese characters.

    Spaces between Latin words are kept. Spaces between Latin and Chinese text cannot be recovered
    after segmentation; usually there are none.
    """
    return [_SPACE_BESIDE.sub("", line) for line in lines]


def signature() -> str:
    """The segmenter's name: jieba with its version.

    Raises:
        UserError: jieba is not installed.
    """
    return f"jieba-{_jieba().__version__}"


@cache
def _segmenter() -> Any:
    segmenter = _jieba().Tokenizer()
    # By default, jieba would print what it loads, and use any file `jieba.cache` among the
    # temporary files, of any version, as its dictionary.
    segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter


def _jieba() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jieba's patterns are for older Python versions
            import jieba
    except ImportError:
        raise UserError(
            "`jieba` must be installed to segment Chinese (pip install jieba); it is not"
        ) from None
    return jieba
