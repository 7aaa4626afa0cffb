"""Half precision against single precision, layer by layer."""

import math

import pytest
import torch
from support.built_models import ENCODER_DECODER, MERGED, TWO_STAGE, build
from torch import nn

from tdo_plugin.analysis.half_precision import rounding
from tdo_plugin.analysis.half_precision.layer_tensors import layers_of, observed
from tdo_plugin.analysis.half_precision.single_sums import SingleSums
from tdo_plugin.modules.source_state import SourceRequest

TOPOLOGIES = {
    "two-stage": TWO_STAGE,
    "pre-norm": {**TWO_STAGE, "norm": "pre"},
    "encoder-decoder": ENCODER_DECODER,
    "merged": MERGED,
}


class Model(nn.Module):
    """What holds a core, as fairseq's models do."""

    def __init__(self, **numbers):
        super().__init__()
        torch.manual_seed(1)
        self.core = build(**numbers)


def tokens(rows, length):
    return torch.randint(4, 30, (rows, length), generator=torch.Generator().manual_seed(length))


def features(model):
    return model.core([SourceRequest(tokens(5, 9))], tokens(5, 7))[1]


def loss(model):
    return model.core.cross_entropy(features(model), tokens(5, 6 + 1), 0.1)[0]


@pytest.fixture(params=TOPOLOGIES)
def model(request):
    return Model(**TOPOLOGIES[request.param])


def test_every_layer_is_near_single_precision(model):
    numbers = rounding.compare(model, loss)
    *layers, outside = numbers.layers
    assert [layer.layer for layer in layers] == [*layers_of(model.core.stack)]
    assert outside.layer == rounding.OUTSIDE
    for layer in layers:
        assert 1e-4 < layer.state_errors["fp16"] < layer.state_errors["bf16"] / 4 < 1e-2
        assert all(value > 0 for value in layer.largest.values())
    for layer in numbers.layers:
        assert 1e-4 < layer.gradient_errors["fp16"] < layer.gradient_errors["bf16"] < 0.1
        assert 0 < layer.gradient < 100
    assert max(numbers.loss_errors.values()) < 1e-2
    assert numbers.scales == {"fp16": 128, "bf16": 1}


def test_in_the_same_format_nothing_differs(model, monkeypatch):
    monkeypatch.setattr(rounding, "HALVES", {"same": torch.float32})
    monkeypatch.setattr(rounding, "FIRST_SCALE", {"same": 1.0})
    numbers = rounding.compare(model, loss, ["same"])
    assert numbers.loss_errors["same"] == 0
    for layer in numbers.layers:
        assert layer.gradient_errors["same"] == 0
        assert layer.state_errors.get("same", 0) == 0


def test_the_largest_values_are_those_of_the_layers(model):
    """The last layer's output, before a final norm, is the target's features."""
    seen = {}
    with observed(model.core.stack, lambda *found: seen.setdefault(found[:2], found[2])):
        features(model)
    last = [*layers_of(model.core.stack)][-1]
    states = seen[last, "state"]
    normed = model.core.stack.output_block(states)
    torch.testing.assert_close(normed, features(model))
    (layer,) = (row for row in rounding.compare(model, loss, []).layers if row.layer == last)
    stream = seen[last, "residual stream"]
    assert layer.largest["residual stream"] >= max(stream.abs().max(), states.abs().max())


def test_observing_changes_nothing_and_ends(model):
    expected = features(model)
    with observed(model.core.stack, lambda *_: None):
        assert torch.equal(features(model), expected)
    residual = next(iter(layers_of(model.core.stack).values())).feed_forward_residual
    assert "after" not in vars(residual)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_an_overflow_is_at_its_layer():
    model = Model(**TWO_STAGE)
    with torch.no_grad():
        model.core.stack.layers[1].feed_forward.inner.weight *= 1e6
    numbers = rounding.compare(model, loss)
    finite = [math.isfinite(layer.state_errors["fp16"]) for layer in numbers.layers[:-1]]
    assert finite == [True, False, False]
    assert all(layer.state_errors["bf16"] < 0.1 for layer in numbers.layers[:-1])
    assert numbers.layers[1].largest["FFN"] > rounding.LARGEST > numbers.layers[0].largest["FFN"]


def test_a_loss_scale_that_overflows_is_halved():
    numbers = rounding.compare(Model(**TWO_STAGE), lambda model: 2.0**11 * loss(model), ["fp16"])
    largest = max(layer.gradient for layer in numbers.layers)
    assert 128 * largest > rounding.LARGEST
    assert rounding.LARGEST / 8 < numbers.scales["fp16"] * largest < 2 * rounding.LARGEST
    assert all(layer.gradient_errors["fp16"] < 0.1 for layer in numbers.layers)


def test_gradients_are_counted_by_size():
    counted = rounding._Gradients()
    counted.add(torch.tensor([0.0, 1e-9, -2e-7, 1e-5, 3.0]))
    assert counted.largest == 3
    assert counted.below(rounding.SMALLEST, 1.0) == 3 / 4
    assert counted.below(rounding.SMALLEST, 128.0) == 2 / 4
    assert counted.below(rounding.VANISHES, 1.0) == 1 / 4
    assert torch.tensor(rounding.VANISHES * 1.01).half() > 0
    assert torch.tensor(rounding.VANISHES * 0.99).half() == 0


def test_products_and_gradients_in_fp16_are_rounded_once():
    left, right, bias = (torch.randn(*size).half() for size in ((7, 300), (300, 5), (5,)))
    exact = left.double() @ right.double()
    with SingleSums():
        product, added = left @ right, torch.addmm(bias, left, right)
        out = torch.mm(left, right, out=torch.empty(7, 5, dtype=torch.float16))
        batched = left[None] @ right[None]
        single = left.float() @ right.float()
        (left.requires_grad_() @ right).sum().backward()
    gradient = right.double().sum(1).expand(7, 300)
    for result, expected in (
        *((product, exact), (out, exact), (batched[0], exact)),
        *((added, exact + bias), (left.grad, gradient)),
    ):
        torch.testing.assert_close(result.double(), expected, rtol=2**-11, atol=1e-5)
    assert torch.equal(single, left.float() @ right.float())
