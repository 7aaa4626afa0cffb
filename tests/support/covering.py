"""Fewer cases than a full product that still hold every pair of choices."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from allpairspy import AllPairs

Case = dict[str, Any]


def pairwise(
    choices: Mapping[str, Sequence[Any]], allowed: Callable[[Case], bool] = lambda case: True
) -> list[Case]:
    """Cases in which any two values of different choices stand together at least once.

    Faults that need three choices at once are left to the tests of the parts.

    Args:
        choices: the values of each.
        allowed: whether a case, or its first choices alone, may be.
    """
    names = list(choices)

    def fits(values: Sequence[Any]) -> bool:
        return allowed(dict(zip(names, values, strict=False)))

    rows = AllPairs(list(choices.values()), filter_func=fits)
    return [dict(zip(names, row, strict=True)) for row in rows]


def mostly_full(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """Cases of which the first are in every tier, and the others in the full one alone.

    Args:
        cases: what ``pytest.mark.parametrize`` is given; a tuple has a value for each name.
        quick: how many are the first.
    """
    rows = list(cases)
    others = [case if isinstance(case, tuple) else (case,) for case in rows[quick:]]
    return [*rows[:quick], *(pytest.param(*case, marks=pytest.mark.full) for case in others)]


def in_turn(cases: Iterable[Any], *options: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Each case once, with the next of all combinations of options: (case, option, ...)."""
    combinations = itertools.cycle(itertools.product(*options))
    return [(case, *combination) for case, combination in zip(cases, combinations, strict=False)]
