"""Every place goes somewhere else, and everywhere equally often."""

import numpy as np
import pytest
from support.covering import mostly_full

from tdo_plugin.tasks.loading.permutations import ROUNDS, mix, permute
from tdo_plugin.tasks.loading.sampled import whole_copies


def keys(*seeds):
    return np.random.SeedSequence(seeds).generate_state(ROUNDS, np.uint64)[:, None]


def permuted(size, *seeds):
    return permute(np.arange(size, dtype=np.uint64), np.uint64(size), keys(size, *seeds))


@pytest.mark.parametrize("size", [*range(1, 60), 1000, 65536, 65537, 300_001])
def test_a_permutation(size):
    assert np.array_equal(np.sort(permuted(size)), np.arange(size))


def test_a_permutation_of_each_size_at_once():
    sizes = np.repeat(np.arange(1, 40), np.arange(1, 40)).astype(np.uint64)
    places = np.concatenate([np.arange(size) for size in range(1, 40)]).astype(np.uint64)
    permutations = permute(places, sizes, np.broadcast_to(keys(1), (ROUNDS, len(places))))
    for size in range(1, 40):
        assert np.array_equal(np.sort(permutations[sizes == size]), np.arange(size))


@pytest.mark.parametrize("size", mostly_full([5, 7, 100]))
def test_permutations_are_even(size):
    """Each place goes everywhere about as often; so does each pair of neighbours."""
    rounds = 4000
    permutations = np.stack([permuted(size, seed) for seed in range(rounds)]).astype(np.int64)
    expected = rounds / size
    for place in (0, 1, size - 1):
        counts = np.bincount(permutations[:, place], minlength=size)
        assert ((counts - expected) ** 2 / expected).sum() < size + 6 * np.sqrt(2 * size)
    steps = np.bincount((permutations[:, 1] - permutations[:, 0]) % size, minlength=size)[1:]
    expected = rounds / (size - 1)
    assert ((steps - expected) ** 2 / expected).sum() < size + 6 * np.sqrt(2 * size)


def test_mix_is_one_to_one():
    words = np.arange(100_000, dtype=np.uint64)
    assert len(np.unique(mix(words))) == len(words)
    assert words[1] == 1, "the argument is not touched"


def test_the_rest_of_a_sample_is_drawn_without_repetition():
    for seed in range(20):
        rows = whole_copies(np.random.RandomState(seed), size=5, count=13)
        assert sorted(np.bincount(rows, minlength=5)) == [2, 2, 3, 3, 3]
