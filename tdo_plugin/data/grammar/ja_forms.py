"""Japanese conjugation: polite and plain forms of verbs and adjectives."""

from __future__ import annotations

from functools import lru_cache

_I_ROW = dict(zip("うくぐすつぬぶむる", "いきぎしちにびみり", strict=True))
_A_ROW = dict(zip("うくぐすつぬぶむる", "わかがさたなばまら", strict=True))
_TE = {"う": "って", "つ": "って", "る": "って", "く": "いて", "ぐ": "いで", "す": "して",
       "ぬ": "んで", "ぶ": "んで", "む": "んで"}  # fmt: skip


@lru_cache(maxsize=1024)
def stems(word: str, group: str) -> tuple[str, str, str]:
    """Stem before -masu, stem before -nai, and te-form."""
    last = word[-1]
    if group == "1":
        stem = word[:-1]
        return stem, stem, stem + "て"
    if group == "s":
        stem = word[:-2] + "し"
        return stem, stem, stem + "て"
    if group == "k":
        if word.endswith("来る"):
            return word[:-1], word[:-1], word[:-1] + "て"
        return word[:-2] + "き", word[:-2] + "こ", word[:-2] + "きて"
    te = word[:-1] + ("って" if word == "行く" else _TE[last])
    return word[:-1] + _I_ROW[last], word[:-1] + _A_ROW[last], te


def past_of(te: str) -> str:
    """The plain past from the te-form."""
    return te[:-1] + ("だ" if te.endswith("で") else "た")


def verb(word: str, group: str, form: str, neg: bool, plain: bool) -> str:
    """A finite form; ``form`` is past, present (also for the future) or ongoing."""
    masu, nai, te = stems(word, group)
    if form == "ongoing":
        if plain:
            return te + ("いない" if neg else "いる")
        return te + ("いません" if neg else "います")
    if plain:
        if neg:
            return nai + ("なかった" if form == "past" else "ない")
        return past_of(te) if form == "past" else word
    if neg:
        return masu + ("ませんでした" if form == "past" else "ません")
    return masu + ("ました" if form == "past" else "ます")


def predicate(word: str, kind: str, past: bool, neg: bool) -> str:
    """A polite sentence end with an adjective; ``word`` is its form before a noun."""
    if kind == "i":
        stem = word[:-1]
        if neg:
            return stem + ("くなかったです" if past else "くないです")
        return stem + "かったです" if past else word + "です"
    stem = word[:-1]
    if neg:
        return stem + ("ではありませんでした" if past else "ではありません")
    return stem + ("でした" if past else "です")
