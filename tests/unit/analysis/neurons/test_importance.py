"""Sums over real positions, and what is refused."""

import pytest
import torch
from torch import nn

from tdo_plugin.analysis.neurons.neuron_importance import (
    METHODS,
    NeuronMeans,
    RealPositions,
    unlike,
)

REAL = RealPositions(
    torch.tensor([[False, True, True], [True, True, True]]),
    torch.tensor([[True, False], [True, True]]),
)


def test_positions_are_those_of_a_side_or_of_both():
    with pytest.raises(ValueError, match="5 positions are neither"):
        REAL.of(torch.zeros(5, 1))


def test_alike_sides_are_made_unlike():
    tokens = torch.full((2, 3), 7)
    assert unlike(tokens, tokens, 1).tolist() == [[7, 7, 7, 1]] * 2
    assert unlike(tokens, tokens[:, :2], 1).shape == (2, 2)
    with pytest.raises(ValueError, match="both have 3"):
        RealPositions(tokens.eq(7), tokens.eq(7))


class Doubled(nn.Module):
    """Two points, of which the second gets what the first gives."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Identity(), nn.Identity()

    def forward(self, x):
        return (self.second(self.first(x) * 2) * self.weights).sum()


def model_of(weights):
    model = Doubled()
    model.weights = weights
    return model, {"first": model.first, "second": model.second}


def test_absolute_activations_need_no_gradient():
    model, points = model_of(torch.ones(4, 1))
    importance = NeuronMeans(points, METHODS["absolute"], scale=4.0)

    def loss():
        assert not torch.is_grad_enabled()
        return model(torch.tensor([[1.0], [5.0], [-3.0], [2.0]]))

    importance.add(REAL, loss)
    assert [importance.means[name].item() for name in ("first", "second")] == [2, 4]


def test_a_scaled_loss_changes_nothing():
    x = torch.randn(4, 3, dtype=torch.float64)
    model, points = model_of(torch.randn(4, 3, dtype=torch.float64))
    means = []
    for scale in (1.0, 128.0):
        importance = NeuronMeans(points, METHODS["taylor"], scale)
        importance.add(REAL, lambda: model(x))
        means.append(importance.means["first"])
    assert torch.equal(*means)


def test_sums_are_in_double_precision():
    """100,000 positions of 0.1 in half precision would stop at 256."""
    size = 2**17
    real = RealPositions(torch.ones(1, size, dtype=torch.bool), torch.ones(1, 1, dtype=torch.bool))
    point = nn.Identity()
    importance = NeuronMeans({"point": point}, METHODS["absolute"])
    x = torch.full((size, 1), 0.1, dtype=torch.float16)
    importance.add(real, lambda: point(x).sum())
    assert importance.means["point"].dtype == torch.float64
    assert importance.means["point"].item() == float(x[0])


def test_hooks_are_gone_even_after_a_mistake():
    model, points = model_of(torch.ones(4, 1))
    importance = NeuronMeans(points, METHODS["taylor"])
    with pytest.raises(RuntimeError):
        importance.add(REAL, lambda: model(torch.ones(4, 2)) / model(torch.ones(3, 7)))
    assert not model.first._forward_hooks and not model.second._forward_hooks


def test_a_module_that_computes_nothing_is_no_mean():
    importance = NeuronMeans({"idle": nn.Identity()}, METHODS["absolute"])
    importance.add(REAL, lambda: torch.zeros(()))
    with pytest.raises(ValueError, match="idle has not been run"):
        _ = importance.means
