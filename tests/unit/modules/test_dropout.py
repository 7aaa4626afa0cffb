"""Dropout: rates, expectation, gradient, and when it is on."""

import pytest
import torch

from tdo_plugin.modules.dropout import Dropout


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.5, 0.9])
def test_share_and_scale(rate: float) -> None:
    out = Dropout(rate).train()(torch.ones(1_000_001))
    assert (out == 0).float().mean().item() == pytest.approx(rate, abs=3e-3)
    assert out.mean().item() == pytest.approx(1, abs=2e-2)
    kept = out[out != 0]
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - rate), rel=2e-4)


def test_neighbours_are_independent() -> None:
    """Four neighbours come from one draw: none of them may know of another."""
    kept = (Dropout(0.25).train()(torch.ones(400_000)) != 0).double().view(-1, 4)
    correlation = torch.corrcoef(kept.T)
    assert (correlation - torch.eye(4)).abs().max() < 0.02
    assert torch.allclose(kept.mean(0), torch.full((4,), 0.75, dtype=torch.float64), atol=0.01)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_gradient_passes_where_the_value_does(dtype: torch.dtype) -> None:
    x = torch.ones(7, 5, 3, dtype=dtype, requires_grad=True)
    out = Dropout(0.3).train()(x)
    assert out.dtype == dtype
    assert out.shape == x.shape
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_seed_decides() -> None:
    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return Dropout(0.5).train()(torch.ones(100))

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))


def test_when_it_is_on() -> None:
    x = torch.ones(100)
    module = Dropout(0.5)
    assert module.eval()(x) is x
    module.retained = True
    assert (module.eval()(x) == 0).any()
    assert Dropout(0.0).train()(x) is x
    assert not Dropout(1.0).train()(x).any()
    assert Dropout(0.5).train()(torch.ones(0)).numel() == 0
