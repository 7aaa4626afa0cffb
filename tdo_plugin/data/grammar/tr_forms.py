"""Turkish suffixes: vowel harmony, buffer sounds, softened stems."""

# ruff: noqa: RUF001
from __future__ import annotations

from functools import lru_cache

_HIGH = {"a": "ı", "ı": "ı", "o": "u", "u": "u", "e": "i", "i": "i", "ö": "ü", "ü": "ü"}
_LOW = {"a": "a", "ı": "a", "o": "a", "u": "a", "e": "e", "i": "e", "ö": "e", "ü": "e"}
_VOWELS = frozenset(_HIGH)
_VOICELESS = frozenset("çfhkpsşt")


def last_vowel(word: str) -> str:
    """The vowel that determines vowel harmony."""
    lowered = word.replace("I", "ı").replace("İ", "i").lower()
    return next(letter for letter in reversed(lowered) if letter in _VOWELS)


def ends_in_vowel(word: str) -> bool:
    return word[-1].lower() in _VOWELS


@lru_cache(maxsize=8192)
def attach(stem: str, suffix: str) -> str:
    """``stem`` with ``suffix``, which is written with archiphonemes.

    ``I`` is a high vowel and ``A`` a low vowel in harmony with the preceding vowel, ``D`` and ``C``
    are voiceless after a voiceless sound; a consonant in brackets is kept only between two vowels,
    a vowel in brackets only after a consonant.
    """
    if suffix.startswith("("):
        buffer, suffix = suffix[1], suffix[3:]
        if ends_in_vowel(stem) != (buffer in "IA"):
            suffix = buffer + suffix
    word = stem
    for sound in suffix:
        if sound == "I":
            sound = _HIGH[last_vowel(word)]
        elif sound == "A":
            sound = _LOW[last_vowel(word)]
        elif sound == "D":
            sound = "t" if word[-1] in _VOICELESS else "d"
        word += sound
    return word


# suffixes with an initial vowel after consonants, before which a stem softens
CASES = {"n": "", "acc": "(y)I", "dat": "(y)A", "loc": "DA", "gen": "(n)In", "com": "(y)lA"}
POSSESSIVES = {"my": "(I)m", "your": "(I)n", "our": "(I)mIz"}
_COPULA = ("(y)Im", "sIn", "", "(y)Iz", "lAr")
_DEFINITE = ("m", "n", "", "k", "lAr")


def noun(word: str, soft: str, plural: bool, possessor: str, case: str) -> str:
    """A noun with number, possessor and case; ``soft`` is its stem before a vowel."""
    stem = attach(word, "lAr") if plural else word
    if possessor:
        return attach(attach(stem if plural else soft, POSSESSIVES[possessor]), CASES[case])
    before_vowel = case in ("acc", "dat", "gen") and not plural
    return attach(soft if before_vowel else stem, CASES[case])


def name(word: str, case: str) -> str:
    """A name: its suffixes follow an apostrophe."""
    if case == "n":
        return word
    return word + "'" + attach(word, CASES[case])[len(word) :]


def _negated(stem: str) -> str:
    return attach(stem, "mA")


def finite(stem: str, soft: str, tense: str, person: int, neg: bool) -> tuple[str, str]:
    """Base and personal ending of ``pres past fut`` (habits use the present)."""
    if tense == "past":
        return attach(_negated(stem) if neg else stem, "DI"), _DEFINITE[person]
    if tense == "fut":
        root = _negated(stem) if neg else soft
        return attach("yi" if root == "ye" else root, "(y)AcAk"), _COPULA[person]
    return progressive(stem, soft, neg), _COPULA[person]


def progressive(stem: str, soft: str, neg: bool) -> str:
    """The form in -(I)yor, which drops a low final vowel of the stem."""
    if neg:
        return attach(stem, "mIyor")
    if not ends_in_vowel(soft):
        return attach(soft, "Iyor")
    if soft[-1] not in "ae":
        return soft + "yor"
    shorter = soft[:-1]
    if not any(letter in _VOWELS for letter in shorter.rpartition(" ")[2]):
        return shorter + "iyor"
    return attach(shorter, "Iyor")


def personal(base: str, ending: str) -> str:
    """A finite form; the k of the future softens before a vowel."""
    if base.endswith(("acak", "ecek")) and ending.startswith("(y)"):
        base = base[:-1] + "ğ"
    return attach(base, ending)


def able(stem: str, soft: str, person: int, neg: bool) -> str:
    """The ability form (can), in the aorist."""
    root = "yi" if soft == "ye" else soft
    if not neg:
        return attach(attach(root, "(y)Abilir"), _COPULA[person].replace("(y)", ""))
    base = attach(root, "(y)AmA")
    endings = ("m", "zsIn", "z", "yIz", "zlAr")
    return attach(base, endings[person])


def participle(stem: str, soft: str, neg: bool) -> str:
    """-(y)An: the one who does or did."""
    root = _negated(stem) if neg else "yi" if soft == "ye" else soft
    return attach(root, "(y)An")


def factive(stem: str, soft: str, tense: str, person: int, neg: bool, case: str) -> str:
    """-DIK or -(y)AcAK with the subject's possessive and a case: that, when, which he ..."""
    if tense == "fut":
        base = finite(stem, soft, "fut", 2, neg)[0][:-1] + "ğ"
    else:
        base = attach(_negated(stem) if neg else stem, "DI") + "ğ"
    if person == 4:
        plural = attach(base[:-1] + "k", "lArI")
        return attach(plural, {"acc": "nI", "loc": "nDA", "": ""}[case])
    owned = attach(base, ("Im", "In", "I", "ImIz")[person])
    if case == "":
        return owned
    return attach(owned, ("n" if person == 2 else "") + {"acc": "I", "loc": "DA"}[case])
