"""Rows are drawn by the seed, the pair and the purpose alone."""

from tdo_plugin.corpora.description import Take
from tdo_plugin.corpora.rows.row_sampling import choose, generator

PAIR = ("de", "en")


def test_the_seed_the_pair_and_the_purpose_decide():
    def number(seed=1, pair=PAIR, purpose="sample"):
        return generator(seed, pair, purpose).random()

    assert number() == number()
    assert len({number(), number(seed=2), number(pair=("fr", "en")), number(purpose="valid")}) == 4


def test_what_is_taken_is_not_taken_again():
    valid = choose(Take(rows=40), 100, generator(1, PAIR, "valid"))
    test = choose(Take(rows=60), 100, generator(1, PAIR, "test"), valid)
    assert (len(valid), len(test)) == (40, 60)
    assert not valid & test
    assert len(choose(Take(rows=9), 4, generator(1, PAIR, "test"))) == 4
