"""Whole numbers of sentences."""

import numpy as np
import pytest

from tdo_plugin.tasks.auxiliary_data.mixture import Mixture, shared_out


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_are_the_whole_and_in_proportion(seed):
    drawn = np.random.default_rng(seed)
    weights = drawn.random(drawn.integers(1, 9)) + 1e-3
    total = int(drawn.integers(0, 1000))
    counts = shared_out(total, weights)
    assert counts.sum() == total and counts.dtype.kind == "i"
    assert np.abs(counts - total * weights / weights.sum()).max() < 1


def test_sizes_stay_what_they_are():
    """Where nothing is drawn every sentence is there once, however many there are."""
    sizes = [7, 10**9 + 1, 3, 123_456_789]
    assert shared_out(sum(sizes), sizes).tolist() == sizes


def test_who_is_cut_most_gets_one_more():
    assert shared_out(5, [1.0, 2.9, 1.1]).tolist() == [1, 3, 1]
    assert shared_out(4, [1.4, 2.9, 0.7]).tolist() == [1, 2, 1]
    assert shared_out(1, [1, 1]).tolist() == [1, 0]


def mixture(*sets, **options):
    categories, directions, sizes = zip(*sets, strict=True)
    return Mixture(sizes, categories, directions, **options)


MAIN = [("main", "en-de", 30), ("main", "de-en", 10)]
LONE = [("monolingual", "de-de", 300), ("monolingual", "en-en", 100)]
SYNTHETIC = ("back-translated", "de-en", 45)


def test_the_smallest_share_is_a_sentence():
    mixed = mixture(*MAIN, *LONE, share=1e-9)
    assert mixed.counts(lambda _: None, None).tolist() == [30, 10, 1, 0]


def test_the_pairs_of_an_epoch_are_fairseq_s():
    """As often as the largest direction needs, or half as much again as there is."""
    mixed = mixture(*MAIN, *LONE)
    assert mixed.counts(lambda _: [0.5, 0.5], None)[:2].tolist() == [30, 30]
    assert mixed.counts(lambda _: [0.1, 0.9], None)[:2].tolist() == [6, 54]


def test_a_direction_is_sampled_by_all_its_pairs():
    seen = []

    def ratios(sizes):
        seen.append(sizes)
        return [0.25, 0.75]

    counts = mixture(*MAIN, SYNTHETIC, upsampling=2.0).counts(ratios, None, virtual_size=104)
    assert seen == [{0: 30, 1: 65}]
    assert counts.tolist() == [26, 24, 54]  # 78 in proportion of 20 and 45


def test_all_together():
    mixed = mixture(*MAIN, *LONE, SYNTHETIC, ("mined", "de-en", 7), upsampling=2.0, share=0.25)
    assert mixed.counts(lambda _: None, None).tolist() == [30, 20, 26, 8, 45, 7]
    assert mixed.counts(lambda _: None, None, virtual_size=136).sum() == 136
