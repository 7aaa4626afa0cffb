"""Rows are drawn by the seed and the pair alone, each as likely as any other."""

from collections import Counter

import pytest

from tdo_plugin.corpora.description import Take
from tdo_plugin.corpora.rows.drawing import choose, draw, generator

PAIR = ("de", "en")


def drawn(total, wanted, seed=1, pair=PAIR):
    return list(draw(range(total), total, wanted, generator(seed, pair, "sample")))


@pytest.mark.parametrize(("total", "wanted"), [(100, 30), (100, 100), (7, 30), (100, 0), (0, 5)])
def test_so_many_in_their_order(total, wanted):
    found = drawn(total, wanted)
    assert len(set(found)) == len(found) == min(total, wanted)
    assert found == sorted(found)


def test_the_seed_and_the_pair_decide():
    assert drawn(1000, 50) == drawn(1000, 50)
    assert drawn(1000, 50) != drawn(1000, 50, seed=2)
    assert drawn(1000, 50) != drawn(1000, 50, pair=("fr", "en"))


def test_every_row_is_as_likely():
    counts = Counter(row for seed in range(2000) for row in drawn(20, 5, seed))
    # 2,000 * 5 / 20 = 500 each, standard deviation 19
    assert all(400 < counts[row] < 600 for row in range(20))


def test_every_so_manieth_begins_with_that_one():
    assert choose(Take(every=23), 70, generator(1, PAIR, "valid")) == {22, 45, 68}


def test_what_is_taken_is_not_taken_again():
    valid = choose(Take(rows=40), 100, generator(1, PAIR, "valid"))
    test = choose(Take(rows=60), 100, generator(1, PAIR, "test"), valid)
    assert (len(valid), len(test)) == (40, 60)
    assert not valid & test
    assert len(choose(Take(rows=9), 4, generator(1, PAIR, "test"))) == 4
