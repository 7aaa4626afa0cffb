"""Templates of experiment files: expressions, names, references."""

import pytest

from tdo_plugin.experiments.expressions import Scope, as_text, evaluate, parts

NAMES = {"N": 3, "d": 96, "languages": ["de", "fr"], "scale": "toy", "each": "de-fr"}


def test_values():
    values = {
        "2 * N": 6,
        "(3 * N + 1) // 2": 5,
        "ceil(1.5 * N)": 5,
        "-N + 10 % 4": -1,
        "d if scale == 'full' else 2 * d": 192,
        "'de' in languages and N < 4": True,
        "0 or N": 3,
        "0 and N": 0,
        "not N": False,
        "[N, d]": [3, 96],
        "languages[1]": "fr",
        "pairs(languages)": ["de-fr", "fr-de"],
        "both_ways('en', languages)": ["en-de", "de-en", "en-fr", "fr-en"],
        "first(pairs(languages), 1)": ["de-fr"],
        "source(each) + target(each)": "defr",
    }
    assert {text: evaluate(text, NAMES) for text in values} == values


def test_texts_are_put_together():
    scope = Scope({**NAMES, "half": "{N // 2}"})
    assert scope.value("{2 * N}") == 6
    assert scope.text("{N} of {2 * N}: {languages}") == "3 of 6: de,fr"
    assert scope.value("{half}") == 1  # names are templates as well
    assert scope.value('{{"main": (None, "tgt")}}') == '{"main": (None, "tgt")}'
    assert scope.value(["{N}", {"a": 1}]) == [3, {"a": 1}]
    assert (as_text(6.0), as_text(0.5), as_text(1e-9)) == ("6", "0.5", "1e-09")


def test_references_come_before_names_and_may_hold_templates():
    def refer(expression, scope):
        kind, _, target = expression.partition(":")
        return f"/{scope.text(target)}" if kind == "checkpoint" else None

    scope = Scope({"direction": "en-de"}, refer)
    assert scope.value("{checkpoint:one+direction={direction}}") == "/one+direction=en-de"


def test_nothing_else_is_evaluated(refused):
    wrong = [
        "__import__('os')",
        "N.real",
        "open('x')",
        "lambda: 1",
        "1 / 0",
        "1e308 * 10",
        "missing",
    ]
    for text in [*wrong, "N +", "[x for x in languages]", "languages[7]", "N + 'x'"]:
        with pytest.raises(ValueError, match=r"\S"):
            evaluate(text, NAMES)
    for template in ("{N", "N}", "{{N}"):
        with pytest.raises(ValueError, match=r"brace"):
            parts(template)
    with refused.raised("a cycle", names="a → b → a"):
        Scope({"a": "{b}", "b": "{a + 1}"}, where="mine.toml").value("{a}")
