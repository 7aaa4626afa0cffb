"""What each rule takes, and that it is counted."""

import unicodedata
from pathlib import Path

import pytest

from tdo_plugin.corpora.description.schema import Rule
from tdo_plugin.corpora.description.wellformed import RULE
from tdo_plugin.corpora.rows.cleaning import _ON_HELD_OUT, _ON_ROW, Cleaner


def cleaner(*rules: Rule, scratch: Path = Path()) -> Cleaner:
    return Cleaner(rules, ("en", "de"), None, scratch)


NULL = Rule("contains", text="NULL")
CHARACTERS = Rule("length", least=2, most=3, unit="characters")
TOKENS = Rule("length", least=1, most=3, unit="tokens")
RATIO = Rule("ratio", most=1.5, unit="tokens")
FINE_RATIO = Rule("ratio", most=1.15, unit="characters")  # 1.15 * 100 < 115 in floating point
UNEQUAL, EQUAL = [("a b c d", "a b"), ("a b", "a b c d"), ("", "a")], [("a b c", "a b"), ("", "")]


@pytest.mark.parametrize(
    ("rule", "taken", "left"),
    [
        (Rule("empty"), [("", "b"), ("a", " \u3000\t")], [("a", "b")]),
        (Rule("same"), [("a", "a")], [("a", "A"), ("a", "a ")]),
        (NULL, [("_ _ NULL _ _", "a"), ("a", "ANNULLED")], [("null", "a")]),
        (CHARACTERS, [("a", "bb"), ("bb", "cccc"), ("", "")], [("bb", "c c"), ("ääa", "ab")]),
        (TOKENS, [("a b c d", "a"), ("a", "a  b c\u00a0d"), ("a", " ")], [(" a  b cccc ", "a")]),
        (RATIO, UNEQUAL, [*EQUAL, ("a b", "a b c")]),
        (FINE_RATIO, [("a" * 116, "a" * 100)], [("a" * 115, "a" * 100)]),
    ],
)
def test_what_a_rule_takes(rule, taken, left):
    cleaning = cleaner(rule)
    clean = cleaning.after_tokens if rule.unit == "tokens" else cleaning.before_tokens
    assert list(clean([*taken, *left])) == left
    assert list(cleaning.counts.values()) == [len(taken)]
    assert [cleaning.lets_pass(row) for row in left] == [True] * len(left)
    assert not any(cleaning.lets_pass(row) for row in taken)


def test_every_rule_of_a_description_is_known():
    (mistake,) = RULE({"rule": "?"}, "it")
    names = mistake.partition("one of ")[2].partition(";")[0].split(", ")
    assert {*_ON_ROW, *_ON_HELD_OUT, "duplicates"} == {*names}


def test_rules_follow_each_other_and_are_counted(tmp_path):
    cleaning = cleaner(
        Rule("empty"),
        Rule("duplicates"),
        Rule("contains", text="x"),
        Rule("length", least=1, most=250, unit="tokens"),
        Rule("ratio", most=1.5, unit="tokens"),
        scratch=tmp_path,
    )
    rows = [("", "x"), ("", "x"), ("a", "x"), ("a", "x"), ("b", "c"), ("d", "e f"), ("b", "c")]
    text = list(cleaning.before_tokens(rows))
    assert text == [("b", "c"), ("d", "e f")]
    # what belongs to a row stays with it
    tokens = [(*row, number) for number, row in enumerate(text)]
    assert list(cleaning.after_tokens(tokens)) == [("b", "c", 0)]
    assert cleaning.counts == {
        "empty": 2,
        "duplicates": 2,
        "contains x": 1,
        "length not 1 to 250 tokens": 0,
        "ratio > 1.5 in tokens": 1,
    }
    assert list(cleaning.counts)[1] == "duplicates"


def test_unreadable_characters():
    def readable(text):
        return list(cleaner(Rule("unreadable")).before_tokens([("a", text)])) != []

    characters = [chr(code) for code in range(0x3000)]
    wrong = [char for char in characters if not readable(f"a{char}b")]
    expected = [
        c for c in characters if unicodedata.category(c) in ("Cc", "Co", "Cs") and c != "\t"
    ]
    # a newer Unicode may know more characters than this Python, none of which it knows less
    unknown = {char for char in wrong if unicodedata.category(char) == "Cn"}
    assert [char for char in wrong if char not in unknown] == expected
    for char in ("\ufffd", "\ue000", "\ud800", "\ufffe", "\U0010ffff", "\U000f0000", "\u0378"):
        assert not readable(char)
    for char in ("\u200d", "\u00ad", "\ufeff", "\u2028", "\u00a0", "\t", "𐍈", "क्ष"):
        assert readable(char)


def test_what_tokenization_empties_is_empty():
    cleaning = cleaner(Rule("empty"))
    rows = [("a", "b"), ("\u200b", "b")]
    assert list(cleaning.before_tokens(rows)) == rows
    left = ("a", "b", *rows[0])
    assert list(cleaning.after_tokens([left, ("", "b", *rows[1])])) == [left]
    assert cleaning.counts == {"empty": 1}
