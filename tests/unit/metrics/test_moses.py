"""Moses's scripts in Python: known lines come out as the Perl scripts give them."""

import sys

import pytest

from tdo_plugin.metrics import moses

LINES = {  # as tokenizer.perl tokenizes them
    "en": (
        "Mr. Smith's \"big\" dog isn't here, & costs $5.00 [a|b]...",
        "Mr. Smith &apos;s &quot; big &quot; dog isn &apos;t here , &amp; costs $ 5.00 "
        "&#91; a &#124; b &#93; ...",
    ),
    "fr": ("L'homme n'a pas d'argent, lui.", "L&apos; homme n&apos; a pas d&apos; argent , lui ."),
    "de": ("Das kostet z.B. 3,5 Mio. Euro.", "Das kostet z.B. 3,5 Mio. Euro ."),
}


@pytest.mark.parametrize("language", LINES)
def test_tokens_are_those_of_moses(language):
    plain, tokens = LINES[language]
    assert moses.tokenize([plain, ""], language) == [tokens, ""]
    if language != "en":
        assert moses.detokenize([tokens, ""], f"{language}_XX") == [plain, ""]


@pytest.mark.parametrize("language", ["fi", "sv"])
def test_a_colon_within_a_word_stays(language):
    line = 'EU:ssa on 20:een: S:t 5:30 "x":n €:a ä:ö:'
    tokens = "EU:ssa on 20:een : S:t 5 : 30 &quot; x &quot; :n € :a ä:ö :"
    assert moses.tokenize([line], language) == [tokens]


def test_hyphens_can_be_tokens():
    line, tokens = "a well-known - 3-4, x-", "a well @-@ known - 3 @-@ 4 , x-"
    assert moses.tokenize([line], "en", aggressive_hyphens=True) == [tokens]
    assert moses.tokenize([line], "en") == ["a well-known - 3-4 , x-"]
    assert moses.detokenize(["a well @-@ known one"], "en") == ["a well-known one"]


# what normalize-punctuation.perl and remove-non-printing-char.perl give one after the other
NORMALIZED = {
    "en": ('"Oui," puis 10.000 (50%).', '"ja."', '"So," - \'gut," it\'s ...'),
    "de": ('"Oui", puis 10,000 (50%).', '"ja".', '"So", - \'gut", it\'s ...'),
    "cs": ('"Oui", puis 10,000 (50%).', '"ja."', '"So", - \'gut", it\'s ...'),
    "it": ('"Oui", puis 10.000 (50%).', '"ja".', '"So", - \'gut", it\'s ...'),
}


@pytest.mark.parametrize("language", NORMALIZED)
def test_punctuation_is_normalized_as_perl_does_it(language):
    lines = [
        "«\u00a0Oui\u00a0», puis 10\u00a0000 ( 50\u00a0% ) .",
        '"ja."',
        "„So“, — ‘gut’, it’s …",  # noqa: RUF001
        "zero\u200bwidth\u00ad and tab\there",
        "٣\u00a0٤ %",
        "",
    ]
    rest = ["zero width  and tab here", "٣\u00a0٤ %", ""]
    assert moses.normalize(lines, language) == [*NORMALIZED[language], *rest]
    lines = ["他写“不变”……", ""]
    assert moses.normalize(lines, "zh_CN") == lines


def test_detruecasing_begins_each_sentence_with_a_capital():
    lines = ["the dog sleeps . it sees Anna", ""]
    assert moses.detruecase(lines) == ["The dog sleeps . It sees Anna", ""]


@pytest.mark.parametrize("code", ["fr_FR", "fra", "fra_Latn"])
def test_every_code_of_a_language_gets_its_rules(code):
    plain, tokens = LINES["fr"]
    assert moses.tokenize([plain], code) == [tokens]
    assert moses.signature(code) == moses.signature("fr")


def test_a_missing_package_is_named(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with refused.raised("no package", names="pip install sacremoses"):
        moses.signature("en")
