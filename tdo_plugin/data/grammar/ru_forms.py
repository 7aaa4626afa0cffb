"""Russian declension: nouns in the singular, adjectives and pronouns."""

# ruff: noqa: RUF001
from __future__ import annotations

from functools import lru_cache

from tdo_plugin.data.grammar import ru_lexicon as lex

_HUSH = "гкхжшщч"

# endings: genitive, dative, accusative (of the inanimate), instrumental, prepositional
_NOUNS = {
    "mH": ("а", "у", "", "ом", "е"),
    "mS": ("я", "ю", "ь", "ем", "е"),
    "fH": ("ы", "е", "у", "ой", "е"),
    "fS": ("и", "е", "ю", "ей", "е"),
    "fI": ("и", "и", "ю", "ей", "и"),
    "f3": ("и", "и", "ь", "ью", "и"),
    "nH": ("а", "у", "о", "ом", "е"),
    "nS": ("я", "ю", "е", "ем", "е"),
}
# endings of adjectives by gender and case: hard | soft | after k, g, kh | after a hushing sound
_ADJECTIVES = {
    "mn": "ый|ий|ий|ий", "mg": "ого|его|ого|его", "md": "ому|ему|ому|ему",
    "mi": "ым|им|им|им", "mp": "ом|ем|ом|ем",
    "nn": "ое|ее|ое|ее", "na": "ое|ее|ое|ее", "ng": "ого|его|ого|его", "nd": "ому|ему|ому|ему",
    "ni": "ым|им|им|им", "np": "ом|ем|ом|ем",
    "fn": "ая|яя|ая|ая", "fa": "ую|юю|ую|ую", "fg": "ой|ей|ой|ей", "fd": "ой|ей|ой|ей",
    "fi": "ой|ей|ой|ей", "fp": "ой|ей|ой|ей",
    "pn": "ые|ие|ие|ие", "pg": "ых|их|их|их", "pi": "ыми|ими|ими|ими",
}  # fmt: skip
_KEYS = ("mn", "mg", "md", "mi", "mp", "fn", "fa", "fg", "fd", "fi", "fp", "nn", "na", "ng", "nd",
         "ni", "np", "pn", "pg")  # fmt: skip
_PRONOUNS = {
    "этот": "этот этого этому этим этом эта эту этой этой этой этой это это этого этому этим этом "
    "эти этих",
    "мой": "мой моего моему моим моём моя мою моей моей моей моей моё моё моего моему моим моём "
    "мои моих",
    "твой": "твой твоего твоему твоим твоём твоя твою твоей твоей твоей твоей твоё твоё твоего "
    "твоему твоим твоём твои твоих",
    "наш": "наш нашего нашему нашим нашем наша нашу нашей нашей нашей нашей наше наше нашего "
    "нашему нашим нашем наши наших",
}
_PRONOUN_TABLES = {
    word: dict(zip(_KEYS, forms.split(), strict=True)) for word, forms in _PRONOUNS.items()
}


@lru_cache(maxsize=1024)
def noun_singular(head: str, case: str) -> str:
    """A singular noun or name in a case: n, g, d, a, i, p."""
    entry = lex.NAMES[head] if head in lex.NAMES else lex.NOUNS[head]
    word, declension = entry[0], entry[1].rstrip("+")
    if case == "n" or declension.endswith("0"):
        return word
    if case == "i" and head in lex.INSTRUMENTALS:
        return lex.INSTRUMENTALS[head]
    if declension[0] == "m" and case == "a":
        return noun_singular(head, "g") if entry[1].endswith("+") else word
    if declension == "f3" and case == "a":
        return word
    ending = _NOUNS[declension]["gdaip".index(case)]
    if declension == "f3" and case == "i":
        return word[:-1] + "ью" if head != "mother" else "матерью"
    stem = entry[4] if len(entry) > 4 else (word if declension == "mH" else word[:-1])
    if ending == "ы" and stem[-1] in _HUSH:
        ending = "и"
    return stem + ending


@lru_cache(maxsize=4096)
def adjective(word: str, kind: str, case: str, animate: bool) -> str:
    """An adjective or pronoun that agrees; ``kind`` is ``m f n`` or ``p`` for the plural."""
    if case == "a" and kind in "mp":
        case = "g" if animate else "n"
    key = kind + case
    if word in _PRONOUN_TABLES:
        return _PRONOUN_TABLES[word][key]
    if key == "mn":
        return word
    stem, ending = word[:-2], word[-2:]
    if stem[-1] in "жшщч":
        group = 0 if ending == "ой" else 3
    elif stem[-1] in "гкх":
        group = 2
    else:
        group = 1 if ending == "ий" else 0
    text = stem + _ADJECTIVES[key].split("|")[group]
    if word == "большой" and key in ("mi", "ni", "pn", "pg", "pi"):
        text = stem + _ADJECTIVES[key].split("|")[2]
    return text
