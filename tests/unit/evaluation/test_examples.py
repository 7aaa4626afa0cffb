"""Examples are where systems differ; their scores are SacreBLEU's sentence scores."""

from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

from tdo_plugin.evaluation.examples import pick, sentence_scores
from tdo_plugin.evaluation.score_sheet import Example
from tdo_plugin.metrics.sacrebleu_scores import text_metric


def test_sentence_scores_are_sacrebleus():
    hypotheses = ["the small dog", "", "今天天气", "right"]
    references = ["a small dog.", "something", "今天天气很好。", "right"]
    scores = sentence_scores(text_metric("chrf", "en").statistics(hypotheses, references))
    plain = CHRF(word_order=2)
    expected = [
        plain.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    assert scores == pytest.approx(expected, abs=1e-10)


def numbers(chrf: dict[str, list[float]], count: int) -> list[int]:
    rows = range(len(next(iter(chrf.values()))))
    hypotheses = {name: [f"{name} {row}" for row in rows] for name in chrf}
    scores = {name: np.array(row) for name, row in chrf.items()}
    references = [f"reference {row}" for row in rows]
    examples = pick("de-fr", None, references, hypotheses, scores, count, seed=1)
    sample = [example.number for example in examples if example.random]
    assert len({*sample}) == len(sample) == min(count, len(rows)) and sample == sorted(sample)
    return [example.number for example in examples if not example.random]


FIRST = [50.0, 50.0, 50.0, 50.0, 50.0, 50.0]
THREE = {"a": FIRST, "b": [90, 50, 50, 45, 50, 50], "c": [50, 50, 0, 55, 50, 60]}


@pytest.mark.parametrize(
    ("chrf", "count", "expected"),
    [
        # gains of the second system, then losses; equal ones in order, unchanged ones never
        ({"a": FIRST, "b": [60, 90, 50, 20, 40, 90]}, 4, [2, 6, 4, 5]),
        ({"a": FIRST, "b": [60, 90, 50, 20, 40, 90]}, 3, [2, 6, 4]),
        ({"a": FIRST, "b": [60, 90, 50, 20, 40, 90]}, 99, [2, 6, 1, 4, 5]),
        # one side is short: the other fills up
        ({"a": FIRST, "b": [60, 70, 80, 20, 90, 50]}, 4, [5, 3, 2, 4]),
        ({"a": FIRST, "b": [40, 30, 20, 80, 10, 50]}, 4, [4, 5, 3, 2]),
        # three: the widest spread, whichever two it is between
        (THREE, 99, [3, 1, 4, 6]),
        # one: its worst
        ({"a": [30, 10, 20, 10, 90, 0]}, 4, [6, 2, 4, 3]),
        ({"a": [0, 1] * 50}, 60, [*range(1, 100, 2), *range(2, 22, 2)]),
        ({"a": [1] * 100, "b": [0, 1] * 50}, 50, [*range(1, 100, 2)]),
    ],
)
def test_which_sentences_are_taken(chrf, count, expected):
    assert numbers(chrf, count) == expected


def test_an_example_holds_everything_of_its_sentence():
    scores = {"a": np.array([1.0, 2.0]), "b": np.array([1.0, 5.0])}
    hypotheses = {"a": ["x", "y"], "b": ["x", "z"]}
    example, *sample = pick("de-fr", ["s", "t"], ["r", "q"], hypotheses, scores, 3, seed=1)
    second = Example("de-fr", 2, "t", "q", {"a": "y", "b": "z"}, {"a": 2.0, "b": 5.0})
    first = Example("de-fr", 1, "s", "r", {"a": "x", "b": "x"}, {"a": 1.0, "b": 1.0}, random=True)
    assert example == second and sample == [first, replace(second, random=True)]


def test_the_random_sample_depends_on_the_seed_and_the_direction():
    def sample(direction: str, seed: int) -> list[int]:
        lines = [str(number) for number in range(100)]
        found = pick(direction, None, lines, {"a": lines}, {"a": np.zeros(100)}, 20, seed)
        return [example.number for example in found if example.random]

    assert sample("de-fr", 1) == sample("de-fr", 1)
    assert len({*map(tuple, (sample("de-fr", 1), sample("de-fr", 2), sample("fr-de", 1)))}) == 3
