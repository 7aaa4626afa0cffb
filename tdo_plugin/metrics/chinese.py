"""Words of Chinese text by jieba, and text of words again."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

from tdo_plugin.errors import UserError

# ideographs, kana and signs of full width, and of the signs that Latin text has too those that
# Chinese writes without spaces: middle dot, long dash, curly quotes, three dots
_CHINESE = (
    "\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31c0-\u9fff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U00020000-\U0003ffff\u00b7\u2014\u2018\u2019\u201c\u201d\u2026"
)
_SPACE_BESIDE = re.compile(rf"(?<=[{_CHINESE}]) | (?=[{_CHINESE}])")


def words(lines: Iterable[str]) -> list[str]:
    """`python -m jieba -d ' '`: words with one space between them; other spaces are forgotten.

    Raises:
        UserError: jieba is not installed.
    """
    cut = _segmenter().cut
    return [" ".join(" ".join(cut(line)).split()) for line in lines]


def joined(lines: Iterable[str]) -> list[str]:
    """Lines without the spaces that stand beside a Chinese sign.

    Those between Latin words stay. Whether Latin text stood apart from Chinese is not known any
    more once it was cut into words; most often it does not.
    """
    return [_SPACE_BESIDE.sub("", line) for line in lines]


def signature() -> str:
    """Names the words: jieba with its version.

    Raises:
        UserError: jieba is not installed.
    """
    return f"jieba-{_jieba().__version__}"


@cache
def _segmenter() -> Any:
    segmenter = _jieba().Tokenizer()
    # By itself jieba would say what it loads, and take any file `jieba.cache` that it finds among
    # the machine's temporary files, of whatever version, for its dictionary.
    segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter


def _jieba() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jieba's patterns are written for an older Python
            import jieba
    except ImportError:
        raise UserError(
            "`jieba` must be installed for the words of Chinese (pip install jieba); it is not"
        ) from None
    return jieba
