"""Similarity against other ways to compute it, and where it is known."""

import math

import numpy as np
import pytest
import scipy.linalg
import torch

from tdo_plugin.analysis.preference.similarity import forms


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def correlated(sentences, width, seed=1):
    """Two sets with something in common, of directions that vary very differently."""
    common, scales = drawn(sentences, width, seed=seed), torch.logspace(1, -3, width)
    mixed = [drawn(width, width, seed=seed + number) for number in (1, 2)]
    noise = [drawn(sentences, width, seed=seed + number) for number in (3, 4)]
    return [(common + part) * scales @ mixing for part, mixing in zip(noise, mixed, strict=True)]


def similarity(form, first, second, variance=0.99):
    chosen = forms(variance)[form]
    return chosen.similarity(chosen.prepare(first), chosen.prepare(second))


def orthonormal(sentences, width):
    """Centred directions, (sentences, width)."""
    states = drawn(sentences, width)
    return torch.linalg.qr(states - states.mean(0))[0]


def leading(states, variance):
    """Scores of the principal components that hold a share of the variance."""
    centred = states - states.mean(0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(centred, rowvar=False)))
    values, vectors = values[::-1], vectors[:, ::-1]
    count = int(np.searchsorted(np.cumsum(values) / values.sum(), variance)) + 1
    return centred @ vectors[:, :count]


def by_eigenvalues(first, second):
    """Mean canonical correlation by the generalised eigenproblem of the covariances."""
    (a, b), n = (first.shape[1], second.shape[1]), len(first)
    whole = np.cov(np.hstack([first, second]), rowvar=False)
    assert whole.shape == (a + b, a + b) and n > a + b
    xx, yy, xy = whole[:a, :a], whole[a:, a:], whole[:a, a:]
    squares = scipy.linalg.eigh(xy @ np.linalg.inv(yy) @ xy.T, xx, eigvals_only=True)
    return np.sqrt(np.clip(np.sort(squares)[::-1][: min(a, b)], 0, 1)).mean()


@pytest.mark.parametrize("variance", [0.9, 0.99, 0.9999])
@pytest.mark.parametrize("width", [1, 5, 12])
def test_svcca_is_that_of_eigenvalues(width, variance):
    first, second = correlated(200, width)
    expected = by_eigenvalues(*(leading(states.numpy(), variance) for states in (first, second)))
    score = similarity("svcca", first, second, variance)
    assert score.shape == (1,)
    assert float(score) == pytest.approx(expected, abs=1e-8)


def test_of_sets_of_different_width():
    first, second = drawn(300, 6), drawn(300, 9, seed=2)
    second[:, :2] = first[:, :2]
    expected = by_eigenvalues(first.numpy(), second.numpy())
    assert float(similarity("svcca", first, second, 1.0)) == pytest.approx(expected, abs=1e-8)


def test_a_set_is_like_itself_turned_and_scaled_and_moved():
    states = correlated(200, 8)[0]
    turned = 3.7 * states @ torch.linalg.qr(drawn(8, 8, seed=9))[0] + drawn(8, seed=3)
    for changed in (states, -states, turned):
        assert float(similarity("svcca", states, changed)) == pytest.approx(1, abs=1e-9)
    # with all of the variance, under any change of the basis
    assert float(similarity("svcca", states, states @ drawn(8, 8, seed=5), 1.0)) == pytest.approx(1)


def test_what_is_planted_is_found():
    base = orthonormal(100, 4)
    cosines = torch.tensor([0.8, 0.3], dtype=torch.float64)
    second = base[:, :2] * cosines + base[:, 2:] * (1 - cosines**2).sqrt()
    first = base[:, :2] @ drawn(2, 5, seed=2) + 4.0
    score = similarity("svcca", first, second @ drawn(2, 7, seed=3), 1.0)
    assert float(score) == pytest.approx(0.55, abs=1e-9)
    # orthogonal sets have nothing in common
    assert float(similarity("svcca", base[:, :2], base[:, 2:])) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("share", "kept"), [(0.5, 1), (0.99, 1), (0.999, 2), (1.0, 3)])
def test_as_few_directions_as_hold_the_variance(share, kept):
    spread = torch.tensor([10, 1, 0.1], dtype=torch.float64)
    states = orthonormal(40, 3) * spread @ torch.linalg.qr(drawn(6, 6))[0][:3] + 5
    basis = forms(share)["svcca"].prepare(states)
    assert basis.shape == (40, kept)
    torch.testing.assert_close(basis.T @ basis, torch.eye(kept, dtype=basis.dtype))


def test_directions_of_rounding_are_none():
    prepare = forms(1.0)["svcca"].prepare
    assert prepare(orthonormal(9, 2) @ drawn(2, 30)).shape == (9, 2)
    # of fewer sentences than dimensions, one direction less than there are sentences
    assert prepare(drawn(9, 30)).shape == (9, 8)
    # outputs of a layer norm add up to nothing, in single precision to almost nothing
    states = torch.nn.functional.layer_norm(drawn(200, 6, 16).float(), (16,)).mean(1)
    assert prepare(states).shape == (200, 15)


def test_what_does_not_vary_is_like_nothing():
    states = drawn(9, 4)
    basis = forms(0.99)["svcca"].prepare(torch.ones(9, 4))
    assert basis.shape == (9, 0)
    assert math.isnan(similarity("svcca", torch.ones(9, 4), states))
    states[1] = 2
    scores = similarity("sentence", states, states)
    assert scores[[0, 2]].tolist() == pytest.approx([1, 1])
    assert math.isnan(scores[1])


@pytest.mark.parametrize(("sentences", "widths"), [(5000, (5, 5)), (600, (40, 25)), (60, (20, 30))])
def test_unrelated_sets_have_what_chance_gives(sentences, widths):
    form = forms(1.0)["svcca"]
    squares = []
    for seed in range(20):
        first, second = (
            form.prepare(drawn(sentences, width, seed=100 * number + seed))
            for number, width in enumerate(widths)
        )
        chance = form.chance(first, second)
        squares.append(torch.linalg.svdvals(first.T @ second).square().mean())
        assert float(form.similarity(first, second)) < chance + 0.03
    assert chance == pytest.approx(math.sqrt(max(widths) / (sentences - 1)))
    assert float(sum(squares) / len(squares)) == pytest.approx(chance**2, rel=0.2)


def test_few_sentences_are_all_alike():
    form = forms(1.0)["svcca"]
    first, second = (form.prepare(drawn(6, 30, seed=seed)) for seed in (1, 2))
    assert float(form.similarity(first, second)) == pytest.approx(1)
    assert form.chance(first, second) == 1
    alone = form.prepare(drawn(1, 30))
    assert form.chance(alone, alone) == 1


def by_definition(first, second):
    """CCA of two matrices 1 x D, D samples of a variable: the whitened cross-covariance."""
    covariance = np.cov(first, second)
    whitened = covariance[0, 1] / (math.sqrt(covariance[0, 0]) * math.sqrt(covariance[1, 1]))
    return np.linalg.svd(np.array([[whitened]]), compute_uv=False)[0]


def test_sentences_are_compared_as_variables_of_the_width():
    first, second = correlated(7, 12)
    scores = similarity("sentence", first.float(), second.float())
    assert scores.shape == (7,) and scores.dtype == torch.float64
    expected = [by_definition(*pair) for pair in zip(first.numpy(), second.numpy(), strict=True)]
    assert scores.tolist() == pytest.approx(expected, abs=1e-5)
    assert min(expected) < 0.9
    # neither scale, sign nor a constant counts
    changed = second * -torch.arange(1, 8)[:, None] + 3
    torch.testing.assert_close(similarity("sentence", first, changed), scores, atol=1e-5, rtol=0)
