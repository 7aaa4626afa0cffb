"""The classifier that learns from text at hand."""

import math
from collections import Counter

from tdo_plugin.data.grammar import linearize, meaning_at
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


def test_the_classifier_learns_from_the_training_side(data):
    identifier = from_training_side(data)
    sentences = ["the white dog reads", "das weiße Wasser", "la maison blanche", "...", ""]
    assert identifier.identify(sentences) == ["en", "de", "fr", UNDETECTABLE, UNDETECTABLE]
    assert identifier.accuracy == 1
    assert "held-out-accuracy:100.0%" in identifier.signature
    assert "languages:de,en,fr" in identifier.signature
    # three lines each of de and fr, and en's three in both of its pairs
    assert "training-lines:12" in identifier.signature
    assert [identifier.label(code) for code in ("de", "tr", "en_XX")] == ["de", None, "en"]


def test_text_may_be_missing_but_for_training(data, refused):
    pieces = data.root / "pieces"
    for languages, accuracy in (("fr", "100.0%"), ("*", "nan%")):
        for path in pieces.glob(f"valid.*.{languages}"):
            path.unlink()
        assert from_training_side(data).signature.endswith(f"|held-out-accuracy:{accuracy}")
    for path in pieces.glob("train.*.fr"):
        path.write_text("")
    with refused.raised("no training text", names="it lacks fr"):
        from_training_side(data)


def test_it_is_naive_bayes_over_character_ngrams():
    text = grammar("en de es fr", range(20))
    identifier = CharacterNgrams(text)
    counts = {language: Counter(ngrams(lines)) for language, lines in text.items()}

    def plain(sentence):
        def log_likelihood(language):
            total = counts[language].total() + SMOOTHING * BUCKETS
            shares = [(counts[language][n] + SMOOTHING) / total for n in ngrams([sentence])]
            return math.fsum(map(math.log, shares))

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


def test_references_are_learnt_from_and_the_signature_says_so():
    references = grammar("en de fr", range(40))
    first, second = (
        {code: lines[start::2] for code, lines in references.items()} for start in (0, 1)
    )
    references["de"] *= 3  # of three directions into German: learnt from once
    identifier = from_references(references)
    new = grammar("en de fr", range(100, 140))
    assert all(identifier.identify(new[code]).count(code) >= 38 for code in new)
    about = "|training-lines:120|trained-on:references-of-the-same-sentences|"
    assert about in identifier.signature
    right = CharacterNgrams(first).right(second) + CharacterNgrams(second).right(first)
    assert identifier.accuracy == right / 2 > 0.9


def test_too_few_references(refused):
    german = ["ein Hund", "ein Haus"]
    for references, missing in (
        ({"de": german}, "a second language"),
        ({"de": german, "fr": ["la mer", "la mer"]}, "fr"),
        ({}, "a second language"),
    ):
        with refused.raised(f"{references}", names=f"it lacks {missing}"):
            from_references(references)
