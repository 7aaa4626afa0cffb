"""Linear projections with weights laid out for decoding."""

import copy

import pytest
import torch

from tdo_plugin.modules import linear
from tdo_plugin.modules.linear import Linear, lean_product


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return Linear(33, 70)


@pytest.mark.parametrize("shape", [(1,), (5,), (16, 4), (3, 7, 2)], ids=str)
def test_packed_equals_unpacked(layer, shape):
    x = torch.randn(*shape, 33)
    expected = layer(x)
    layer.pack()
    with torch.no_grad():
        torch.testing.assert_close(layer(x), expected, rtol=1e-5, atol=1e-5)
        parts = x.expand(2, *shape, 33).transpose(0, 1)  # not contiguous
        torch.testing.assert_close(layer(parts)[:, 1], expected, rtol=1e-5, atol=1e-5)


def test_gradients_pass_a_packed_weight(layer):
    x = torch.randn(4, 33, requires_grad=True)
    layer(x).sum().backward()
    expected = x.grad.clone(), layer.weight.grad.clone()
    x.grad = layer.weight.grad = None
    layer.pack()
    layer(x).sum().backward()
    assert torch.equal(x.grad, expected[0]) and torch.equal(layer.weight.grad, expected[1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_stay_as_they_are(layer, dtype):
    layer.to(dtype)
    layer.pack()
    assert layer._product is lean_product


def test_nothing_new_is_stored(layer):
    before = set(layer.state_dict())
    layer.pack()
    assert set(layer.state_dict()) == before


def test_what_changes_after_packing_is_no_longer_packed(layer):
    x = torch.randn(4, 33)
    layer.pack()
    fresh = Linear(33, 70)
    copied = copy.deepcopy(layer)
    copied.load_state_dict(fresh.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(copied(x), fresh(x))
        layer.load_state_dict(fresh.state_dict())
        torch.testing.assert_close(layer(x), fresh(x))
        assert layer.to("meta")(x.to("meta")).device.type == "meta"
        assert copied.double()(x.double()).dtype == torch.float64


def test_mixed_precision_of_a_packed_weight(layer):
    layer.pack()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(torch.randn(4, 33)).dtype == torch.bfloat16


def test_the_packed_weight_is_what_is_used(layer, monkeypatch):
    layer.pack()
    monkeypatch.setattr(linear, "lean_product", None)
    with torch.no_grad():
        layer(torch.randn(4, 33))
