"""Sentences by number in any language: number i of one language translates number i of another.

Each holds its number, so that a row can be traced to its place in the source. Words mean nothing,
but are made of the letters of the language; Chinese ones are real, so that jieba knows them.
"""

import functools
import random
import re
from collections.abc import Iterable

Row = tuple[str, str]

MEANINGS = 40  # words of a language
LATIN = ("bdfgklmnprstv", "aeiou")
LETTERS = {  # consonants and vowels, or signs of a syllable each
    "ar": ("بتجدرسشكلمن", "اوي"),
    "fa": ("بپتچدرسشکگلمن", "اوی"),
    "he": ("בגדזטכלמנפקרש", "אוי"),
    "ru": ("бвгдзклмнпрст", "аеиоу"),
    "el": ("βγδζκλμνπρστ", "αειου"),
    "ko": ("가나다라마바사아자차카타파하", "고노도로모보소오조"),
    "ja": ("あかさたなはまやらわ", "いきしちにひみりん"),
    "cs": ("bdhjkmnprstvčřšž", "aeiouáíé"),
    "de": (LATIN[0], "aeiouäöü"),
    "es": ("bdfglmnñprst", "aeioáó"),
    "fr": (LATIN[0], "aeiouéèê"),
    "hr": ("bdgkmnprstvčšž", "aeiou"),
    "pl": ("bdgkmnprstwłśż", "aeioyąę"),
    "ro": ("bdfglmnprstvșț", "aeiouăî"),
    "tr": ("bdgklmnprstvşçğ", "aeiouöü"),
    "vi": ("bcdghklmnrstvđ", "aeiouơưê"),
}
CHINESE = (
    *("我们", "今天", "学习", "中文", "城市", "历史", "老师", "学生", "朋友", "工作", "国家"),
    *("世界", "时间", "问题", "经济", "社会", "文化", "政府", "发展", "研究", "科学", "技术"),
    *("音乐", "电影", "房子", "孩子", "父母", "早上", "晚上", "天气", "医院", "医生", "火车"),
    *("飞机", "图书馆", "苹果", "鸡蛋", "牛奶", "电脑", "手机"),
)
FULL_STOPS = {"zh": "。", "ja": "。"}
WITHOUT_SPACES = ("zh", "ja")


@functools.cache
def word(language: str, meaning: int) -> str:
    """One of the MEANINGS words of a language."""
    if language == "zh":
        return CHINESE[meaning]
    drawn = random.Random(f"{language} {meaning}")
    first, second = LETTERS.get(language, LATIN)
    syllables = range(2 + drawn.randrange(2))
    return "".join(drawn.choice(first) + drawn.choice(second) for _ in syllables)


def tokens(language: str, number: int) -> list[str]:
    """A sentence's words, its number and its full stop."""
    drawn = random.Random(number)
    words = [word(language, meaning) for meaning in drawn.sample(range(MEANINGS), 5)]
    words = [words[0].capitalize(), str(number), *words[1:]]
    return [*words, FULL_STOPS.get(language, ".")]


def spaced(language: str, number: int) -> str:
    """A sentence with spaces between its tokens."""
    return " ".join(tokens(language, number))


def sentence(language: str, number: int) -> str:
    """A sentence as it is written."""
    *words, stop = tokens(language, number)
    return ("" if language in WITHOUT_SPACES else " ").join(words) + stop


def rows(pair: str, numbers: Iterable[int]) -> list[Row]:
    """Sentences of both languages of a pair, "en-de"."""
    first, second = pair.split("-")
    return [(sentence(first, number), sentence(second, number)) for number in numbers]


def long(language: str, words: int) -> str:
    """A sentence of so many words before its full stop, without a number."""
    space = "" if language in WITHOUT_SPACES else " "
    text = space.join(word(language, meaning % MEANINGS) for meaning in range(words))
    return text + FULL_STOPS.get(language, ".")


def disguised(text: str) -> str:
    """The same but for case and spaces."""
    return "  ".join(text.upper().split(" "))


def with_side(row: Row, side: int, text: str) -> Row:
    """A row with another text on one side."""
    return (row[0], text) if side else (text, row[1])


def number_of(text: str) -> int | None:
    """The number of a sentence, whatever form it is in."""
    digits = re.search(r"\d+", text)
    return int(digits[0]) if digits else None
