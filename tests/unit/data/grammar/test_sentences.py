"""What holds for the sentences of every language."""

# ruff: noqa: RUF001
import functools
import re
from itertools import islice

import pytest

from tdo_plugin.data.embedded_corpus import draw
from tdo_plugin.data.grammar import LANGUAGES, linearize

SAMPLE = list(islice(draw("train", 11), 6000))
SPACED = [language for language in LANGUAGES if language != "ja"]


@functools.cache
def said(language):
    """The sample in a language."""
    return [linearize(meaning, language) for meaning in SAMPLE]


@pytest.mark.parametrize("language", SPACED)
def test_form_of_a_sentence(language):
    for sentence in said(language):
        words = [w for w in sentence.split() if any(c.isalpha() for c in w)]
        assert 4 <= len(words) <= 25, sentence
        assert sentence.lstrip("¿")[0].isupper(), sentence
        assert sentence[-1] in ".?", sentence
        assert re.search(r"  |\s[.,]|,,|,\.|,\?|^\s|\s$|[_*|]", sentence) is None, sentence
        assert language == "fr" or " ?" not in sentence


SCRIPTS = {
    "ru": r"[А-Яа-яЁё ,.?]+",
    "en": r"[A-Za-z' ,.?]+",
    "tr": r"[A-Za-zÇĞİÖŞÜçğıöşü' ,.?]+",
    "ja": r"[\u3041-\u309f\u30a1-\u30ff\u4e00-\u9fff々、。]+。",
}


@pytest.mark.parametrize("language", SCRIPTS)
def test_scripts(language):
    for sentence in said(language):
        assert re.fullmatch(SCRIPTS[language], sentence), sentence


@pytest.mark.parametrize("language", LANGUAGES)
def test_different_meanings_are_different_sentences(language):
    """So every language says as many meanings as every other."""
    assert len(set(said(language))) == len(SAMPLE)


def test_questions_are_questions_everywhere():
    for place, meaning in enumerate(SAMPLE):
        is_question = meaning.clause.mood not in ("decl", "imp")
        for language in SPACED:
            assert said(language)[place].endswith("?") == is_question
        assert said("ja")[place].endswith("か。") == is_question


def test_negation_is_said_everywhere():
    signs = {
        "en": r"\b(not|no|cannot)\b",
        "de": r"\bnicht\b|\bkeine?[mnr]?\b",
        "fr": r"(\bne |\bn').* pas\b",
        "es": r"\b[Nn]o\b",
        "ru": r"\b([Нн]е|нет)\b",
        "tr": r"m[aıiuüe]yor|m[ae]d[ıi]|m[ae]y|m[ae]z|emez|m[ae]m\b|değil|yok",
        "ja": "ません|ない|なかった",
    }
    simple = [i for i, m in enumerate(SAMPLE) if not m.clause.sub and m.clause.subj
              and not m.clause.subj.rel]  # fmt: skip
    assert sum(SAMPLE[i].clause.neg for i in simple) > 300
    for language, sign in signs.items():
        for place in simple:
            negated = re.search(sign, said(language)[place]) is not None
            if SAMPLE[place].clause.neg:
                assert negated, said(language)[place]
            elif language not in ("tr", "ja"):
                assert not negated, said(language)[place]
