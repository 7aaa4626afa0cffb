"""Accuracies by class and type, shares of types that rose, and guesses, by hand."""

import torch

from tdo_plugin.analysis.probing import accuracy


def test_accuracy_of_classes_and_types():
    """Those without tokens have none."""
    tokens, right = torch.tensor([0, 1, 0, 3]), torch.tensor([1, 1, 0, 1])
    assert accuracy.by_class(right, {"zero": tokens.eq(0), "nine": tokens.eq(9)}) == {"zero": 0.5}
    types = accuracy.by_type(tokens, right, 5)
    expected = torch.tensor([0.5, 1, torch.nan, 1, torch.nan], dtype=torch.float64)
    torch.testing.assert_close(types, expected, rtol=0, atol=0, equal_nan=True)


def test_shares_of_types_that_rose():
    """Types 1 and 4 rise, 0 stays, 2 falls, 3 is not among the test tokens."""
    before = torch.tensor([0.5, 0.2, 0.9, torch.nan, 0.0])
    rose = accuracy.risen(torch.tensor([0.5, 0.3, 0.1, torch.nan, 1.0]), before)
    assert rose.tolist() == [False, True, False, False, True]
    members = {"capital": torch.tensor([1, 1, 0, 1, 0]).bool()}
    assert accuracy.shares(rose, members) == {"capital": 1 / 2}
    assert accuracy.shares(torch.zeros(5).bool(), members) == {"capital": 0}


def test_guesses_without_states():
    tokens, positions = torch.tensor([7, 8, 7, 9, 7, 8]), torch.tensor([0, 1, 2, 0, 2, 1])
    queries, true = torch.tensor([7, 7, 8, 5, 5]), torch.tensor([2, 0, 1, 0, 1])
    # 0, 1 and 2 are there twice each: the least; 7 is mostly at 2, 8 at 1, 5 is not known
    right = accuracy.guess_most_frequent(positions, true)
    assert right.tolist() == [False, True, False, True, False]
    right = accuracy.guess_by_type(tokens, positions, queries, true)
    assert right.tolist() == [True, False, True, True, False]
