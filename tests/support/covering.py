"""Which cases are tested: pairs of choices instead of a full product, by tier and packages."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import pytest
from allpairspy import AllPairs

Case = dict[str, Any]


def pairwise(
    choices: Mapping[str, Sequence[Any]], allowed: Callable[[Case], bool] = lambda case: True
) -> list[Case]:
    """Cases in which any two values of different choices stand together at least once.

    Faults that need three choices at once are left to the tests of the parts. A case, or its first
    choices alone, must be allowed.
    """
    names = list(choices)

    def fits(values: Sequence[Any]) -> bool:
        return allowed(dict(zip(names, values, strict=False)))

    rows = AllPairs(list(choices.values()), filter_func=fits)
    return [dict(zip(names, row, strict=True)) for row in rows]


def mostly_full(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """Cases for ``parametrize``, the first in every tier, and the others in the full one alone.

    A tuple has a value for each name.
    """
    rows = list(cases)
    return [*rows[:quick], *map(_in_full, rows[quick:])]


def one_in(number: int, cases: Iterable[Any], first: int = 0) -> list[Any]:
    """Cases for ``parametrize``: one in so many in every tier, the others in the full one alone.

    Tests of the same cases begin at different ones, so that each case is in one of them.
    """
    return [case if place % number == first else _in_full(case) for place, case in enumerate(cases)]


def _in_full(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.full)


def in_turn(cases: Iterable[Any], *options: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Each case once, with the next of all combinations of options: (case, option, ...)."""
    combinations = itertools.cycle(itertools.product(*options))
    return [(case, *combination) for case, combination in zip(cases, combinations, strict=False)]


def needs(*modules: str) -> pytest.MarkDecorator:
    """A mark that skips a test where one of these, of `scripts/setup.sh --eval`, is missing."""
    missing = [module for module in modules if find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


# for tests of all that `scripts/setup.sh --eval` installs
EVALUATION = needs("bert_score", "comet", "fasttext", "langdetect", "MeCab", "mecab_ko")
