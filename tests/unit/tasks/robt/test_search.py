"""How long a back-translation may be, and which ones are of no use."""

import pytest

from tdo_plugin.tasks.robt.search import limit, runs_in_circles


@pytest.mark.parametrize(
    ("length", "ratio", "longest", "most"),
    [(10, 1.0, 100, 10), (10, 0.55, 100, 5), (10, 2.5, 100, 25), (10, 2.5, 20, 20), (3, 0.1, 9, 1)],
)
def test_limit(length, ratio, longest, most):
    assert limit(length, ratio, longest) == most


@pytest.mark.parametrize(
    ("words", "circles"),
    [
        ("a a a a a", True),
        ("x y a a a", True),
        ("x y z u a b a b", True),
        ("x y z u v a b a b a", True),
        ("x a a", True),
        ("a b c", False),
        ("a b c a b d", False),
        ("a a b c d", False),
        ("x y z u a b a c", False),
        ("a", False),
        ("a a", False),
        ("", False),
    ],
)
def test_circles(words, circles):
    assert runs_in_circles(tuple(words.split())) == circles
