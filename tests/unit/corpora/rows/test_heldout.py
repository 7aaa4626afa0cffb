"""Sentences of valid and test sets are found again, and little else."""

import pickle
import random
import tracemalloc

import pytest

from tdo_plugin.corpora.rows.heldout import HeldOut

PAIR = ("en", "de")


@pytest.mark.parametrize(
    ("row", "is_held_out"),
    [
        (("the  Straße\u00a0of É ", "x"), True),
        (("THE STRASSE OF E\u0301", "x"), True),
        (("x", "ein haus"), True),
        (("Ein Haus", "the Straße of É"), False),
        (("the Straße ofÉ", "Ein Haus."), False),
        (("", " "), False),
    ],
)
def test_held_out_sentences(row, is_held_out):
    held_out = HeldOut()
    for language, text in (("en", "The Straße of É"), ("de", "Ein Haus"), ("fr", "x"), ("en", " ")):
        held_out.add(language, text)
    held_out = pickle.loads(pickle.dumps(held_out))
    assert held_out.has_side(PAIR, row) is is_held_out


def test_held_out_pairs():
    held_out = HeldOut()
    held_out.add_pair(PAIR, ("a", "b"))
    assert held_out.has_pair(PAIR, ("a", "b"))
    for row in (("a", "B"), ("a", "b "), ("ab", "")):
        assert not held_out.has_pair(PAIR, row)
    assert not held_out.has_pair(("de", "en"), ("b", "a"))


def test_many_held_out_sentences_take_little_memory():
    chance = random.Random(1)
    words = [str(chance.randrange(30_000)) for _ in range(20_000)]
    held_out = HeldOut()
    for word in words[:1000]:  # numpy loads parts of itself
        held_out.add("fr", word)
    tracemalloc.start()
    for word in words:
        held_out.add("en", word)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    added = set(words)
    assert size < 24 * len(added)
    for number in map(str, range(0, 30_000, 7)):
        assert held_out.has_side(PAIR, (number, "x")) is (number in added)
