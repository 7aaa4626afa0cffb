"""Accuracies by class and type against plain loops, and table 4 by hand."""

import math
import random

import pytest
import torch

from tdo_plugin.analysis.probing.accuracy import (
    by_class,
    by_type,
    guess_by_type,
    guess_most_frequent,
    risen,
    shares,
)

DRAWN = random.Random(1)
TOKENS = [DRAWN.randrange(6) for _ in range(200)]
RIGHT = [DRAWN.random() < 0.4 for _ in TOKENS]


def test_by_class_and_type_are_loops():
    def mean(chosen):
        outcomes = [r for token, r in zip(TOKENS, RIGHT, strict=True) if token in chosen]
        return pytest.approx(sum(outcomes) / len(outcomes), abs=1e-12)

    classes = {"even": {0, 2, 4}, "small": {0, 1}, "none": set()}
    members = {
        name: torch.tensor([token in tokens for token in TOKENS])
        for name, tokens in classes.items()
    }
    accuracies = by_class(torch.tensor(RIGHT), members)
    assert accuracies == {name: mean(classes[name]) for name in ("even", "small")}
    types = by_type(torch.tensor(TOKENS), torch.tensor(RIGHT), 8).tolist()
    assert types[:6] == [mean({token}) for token in range(6)]
    assert all(map(math.isnan, types[6:]))


def test_shares_of_types_that_rose():
    """Types 1 and 4 rise, 0 stays, 2 falls, 3 and 5 are not among the test tokens."""
    nan = float("nan")
    before = torch.tensor([0.5, 0.2, 0.9, nan, 0.0, nan])
    after = torch.tensor([0.5, 0.3, 0.1, nan, 1.0, nan])
    rose = risen(after, before)
    assert rose.tolist() == [False, True, False, False, True, False]
    members = {
        "capital": torch.tensor([1, 1, 0, 1, 0, 0]).bool(),
        "number": torch.tensor([0, 0, 0, 0, 1, 0]).bool(),
    }
    assert shares(torch.ones(6).bool(), members) == {"capital": 3 / 6, "number": 1 / 6}
    assert shares(rose, members) == {"capital": 1 / 2, "number": 1 / 2}
    assert shares(torch.zeros(6).bool(), members) == {"capital": 0, "number": 0}


def test_guesses_without_states():
    tokens, positions = torch.tensor([7, 8, 7, 9, 7, 8]), torch.tensor([0, 1, 2, 0, 2, 1])
    queries, true = torch.tensor([7, 7, 8, 5, 5]), torch.tensor([2, 0, 1, 0, 1])
    # 0, 1 and 2 are there twice each: the least; 7 is mostly at 2, 8 at 1, 5 is not known
    assert guess_most_frequent(positions, true).tolist() == [False, True, False, True, False]
    right = guess_by_type(tokens, positions, queries, true)
    assert right.tolist() == [True, False, True, True, False]
