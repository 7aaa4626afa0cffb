"""The classifier that learns from text at hand."""

import math
from collections import Counter

import pytest

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.grammar import linearize, meaning_at
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id import (
    UNDETECTABLE,
    CharacterNgrams,
    from_references,
    from_training_side,
)
from tdo_plugin.metrics.language_id.ngrams import BUCKETS, SMOOTHING


def grammar(languages: str, numbers: range) -> dict[str, list[str]]:
    return {
        language: [linearize(meaning_at(number, seed=1), language) for number in numbers]
        for language in languages.split()
    }


def test_the_classifier_learns_from_the_training_side(data: DataFolder) -> None:
    identifier = from_training_side(data)
    sentences = ["the white dog reads", "das weiße Wasser", "la maison blanche", "...", ""]
    assert identifier.identify(sentences) == ["en", "de", "fr", UNDETECTABLE, UNDETECTABLE]
    assert identifier.accuracy == 1
    assert "held-out-accuracy:100.0%" in identifier.signature
    assert "languages:de,en,fr" in identifier.signature
    # three lines each of de and fr, and en's three in both of its pairs
    assert "training-lines:12" in identifier.signature
    assert [identifier.label(code) for code in ("de", "tr", "en_XX")] == ["de", None, "en"]


@pytest.mark.parametrize(("languages", "accuracy"), [("fr", "100.0%"), ("*", "nan%")])
def test_validation_text_may_be_missing(data: DataFolder, languages: str, accuracy: str) -> None:
    for path in (data.root / "pieces").glob(f"valid.*.{languages}"):
        path.unlink()
    assert from_training_side(data).signature.endswith(f"|held-out-accuracy:{accuracy}")


def test_a_folder_without_training_text_is_one_line(data: DataFolder) -> None:
    for path in (data.root / "pieces").glob("train.*.fr"):
        path.write_text("")
    with pytest.raises(UserError, match=r"`DATA` must have training text .*; it lacks fr"):
        from_training_side(data)


def test_it_is_naive_bayes_over_character_ngrams() -> None:
    text = grammar("en de es fr", range(20))
    identifier = CharacterNgrams(text)
    counts = {language: Counter(ngrams(lines)) for language, lines in text.items()}
    totals = {language: counts[language].total() + SMOOTHING * BUCKETS for language in counts}

    def plain(sentence: str) -> str:
        def log_likelihood(language: str) -> float:
            ngram_counts = counts[language]
            return math.fsum(
                math.log((ngram_counts[ngram] + SMOOTHING) / totals[language])
                for ngram in ngrams([sentence])
            )

        return max(counts, key=log_likelihood)

    # single words of all four, where it is not always right
    words = sorted({word for lines in text.values() for line in lines for word in line.split()})
    identified = identifier.identify(words)
    assert len(words) > 150
    agree = sum(a == plain(word) for a, word in zip(identified, words, strict=True) if a != "?")
    assert agree >= len(words) - identified.count("?") - 1  # two n-grams may share a bucket


def ngrams(lines: list[str]) -> list[str]:
    texts = [f" {' '.join(line.split())} " for line in lines]
    return [
        text[start : start + length]
        for text in texts
        for length in range(1, 5)
        for start in range(len(text) - length + 1)
    ]


def test_references_are_learnt_from_and_the_signature_says_so() -> None:
    references = grammar("en de fr", range(40))
    references["de"] *= 3  # of three directions into German: learnt from once
    identifier = from_references(references)
    new = grammar("en de fr", range(100, 140))
    assert all(identifier.identify(new[code]).count(code) >= 38 for code in new)
    assert "|training-lines:120|trained-on:references-of-the-same-sentences|" in (
        identifier.signature
    )
    halves = [
        {code: lines[:40][start::2] for code, lines in references.items()} for start in (0, 1)
    ]
    expected = (
        CharacterNgrams(halves[0]).right(halves[1]) + CharacterNgrams(halves[1]).right(halves[0])
    ) / 2
    assert identifier.accuracy == expected > 0.9


@pytest.mark.parametrize(
    ("references", "missing"),
    [
        ({"de": ["ein Hund", "ein Haus"]}, "a second language"),
        ({"de": ["ein Hund", "ein Haus"], "fr": ["la mer", "la mer"]}, "fr"),
        ({}, "a second language"),
    ],
)
def test_too_few_references_are_one_line(references: dict[str, list[str]], missing: str) -> None:
    with pytest.raises(UserError, match=rf"`--lid references` requires .*; it lacks {missing}$"):
        from_references(references)
