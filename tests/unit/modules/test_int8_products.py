"""Matrix products in 8-bit integers, against the formula in double precision."""

import pytest
import torch
from support.built_models import ENCODER_DECODER, MERGED, PAD, TWO_STAGE, build

from tdo_plugin.modules import int8_products
from tdo_plugin.modules.int8_products import LEVELS, WIDE, Int8Linear, int8_product, quantise_
from tdo_plugin.modules.linear import Linear, Projection
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.token_context import TokenContext

pytestmark = pytest.mark.skipif(not int8_products.is_available(), reason="torch lacks FBGEMM here")
KERNELS = pytest.mark.parametrize("outputs", [1, 70, WIDE + 3], ids=["one", "narrow", "wide"])
TARGETS = {"num_languages": 2}
MODELS = {
    "two-stage": {**TWO_STAGE, "adaptation_dim": 6},
    "prefix": {**TWO_STAGE, "target_layer": 0, "norm": "pre"},
    "causal": {**TWO_STAGE, "target_layer": 0, "source_attention": "causal"},
    "sees start": {**TWO_STAGE, "source_sees_start": True},
    "encoder-decoder": {**ENCODER_DECODER, "norm": "pre"},
    "rotary": {**TWO_STAGE, "position_embedding": "rotary", "positions": "continuous"},
    "three matrices": {**TWO_STAGE, "share_embeddings": "none"},
    "MATT": MERGED,
    "LALN, LALT": {**ENCODER_DECODER, **TARGETS, "laln": "both", "lalt": "xavier"},
    "target attention": {**ENCODER_DECODER, **TARGETS, "target_attention": "all"},
    "experts": {**TWO_STAGE, **TARGETS, "ffn_experts": "target"},
    "TPDM": {**TWO_STAGE, "tpdm_layer": 2, "tpdm_gate": "relaxed-bernoulli"},
    "adapters": {**TWO_STAGE, "adapter_dim": 4, "num_pairs": 2},
}


def numbers_off_ties(*shape):
    """Inputs of known integers, none half-way between two: the inputs, the integers, the scales."""
    levels = torch.randint(-LEVELS, LEVELS + 1, shape)
    levels[..., 0] = LEVELS  # the largest
    scales = torch.rand(*shape[:-1], 1).double() + 0.5
    inner = levels + (torch.rand(shape).double() - 0.5) * 0.8 * levels.abs().lt(LEVELS)
    return (inner * scales).float(), levels.double(), scales


@KERNELS
@pytest.mark.parametrize("shape", [(1, 33), (5, 33), (4, 3, 33)], ids=str)
def test_the_formula(outputs, shape):
    weight, bias = torch.randn(outputs, 33), torch.randn(outputs)
    x, levels, scales = numbers_off_ties(*shape)
    steps = weight.double().abs().amax(1) / 127
    integers = (weight.double() / steps[:, None]).round()
    expected = (levels @ integers.T) * scales * steps
    product = int8_product(weight)
    for added in (None, bias):
        actual = product(x, weight, added)
        exact = expected if added is None else expected + bias.double()
        torch.testing.assert_close(actual.double(), exact, rtol=1e-5, atol=1e-4)
    worst = (x.double() @ weight.double().T - expected).abs().max() / expected.abs().max()
    assert 0 < worst < 0.05


@KERNELS
def test_no_token_affects_another(outputs):
    product = int8_product(torch.randn(outputs, 33))
    x = torch.randn(6, 33) * torch.tensor([1, 100, 0.01, 1, 5, 1])[:, None]
    alone = torch.cat([product(row[None], None, None) for row in x])
    torch.testing.assert_close(product(x, None, None), alone, rtol=1e-6, atol=0)


@KERNELS
def test_zeros_and_what_is_no_number(outputs):
    weight, bias = torch.randn(outputs, 8), torch.randn(outputs)
    weight[0] = 0
    x = torch.randn(3, 8)
    x[0], x[1, 2] = 0, float("nan")
    output = int8_product(weight)(x, None, bias)
    assert torch.equal(output[0], bias) and output[2].isfinite().all()
    assert output[1].isnan().all()


def test_torch_s_choice_of_kernels_is_kept():
    before = torch.backends.quantized.engine
    int8_product(torch.randn(4, 4))
    assert torch.backends.quantized.engine == before


def features(model, source, previous, cached=False):
    rows = torch.arange(len(source)) % 2
    context = TokenContext(norm=rows, target=rows, pair=rows)
    state = model.encode_all([SourceRequest(source, context=context)])[0]
    if not cached:
        return model.logits(model.decode(previous, state))
    cache = model.new_cache()
    steps = [
        model.decode(previous[:, : step + 1], state, cache) for step in range(previous.size(1))
    ]
    return model.logits(torch.cat(steps, 1))


@pytest.mark.parametrize("name", MODELS)
@torch.inference_mode()
def test_every_model_decodes(name):
    model = build(**MODELS[name]).eval()
    source, previous = torch.randint(4, 30, (4, 6)), torch.randint(4, 30, (4, 5))
    source[0, :2] = PAD
    exact = features(model, source, previous)
    quantise_(model)
    model.pack()  # as what prepares a model for decoding does
    plain = [part for part in model.stack.modules() if type(part) in (Linear, Projection)]
    assert not plain and any(type(part) is Int8Linear for part in model.stack.modules())
    for cached in (False, True):
        rounded = features(model, source, previous, cached)
        assert not torch.equal(rounded, exact)
        assert (rounded - exact).abs().max() < 0.1 * exact.abs().max()


@pytest.mark.parametrize("choices", [{}, {"masked_tags": 2}, {"share_embeddings": "none"}], ids=str)
@torch.inference_mode()
def test_logits_are_quantised_for_good(choices):
    model = build(**TWO_STAGE, **choices).eval()
    features = torch.randn(3, 4, model.spec.model_dim)
    expected = int8_product(model.embeddings.output_weight)(features, None, None)
    assert not torch.equal(model.logits(features), expected)
    quantise_(model)
    for change in (model.pack, model.unpack):
        change()
        assert torch.equal(model.logits(features), expected)


def test_weights_are_freed():
    model = build(**ENCODER_DECODER)
    before = sum(parameter.numel() for parameter in model.stack.parameters())
    quantise_(model)
    assert sum(parameter.numel() for parameter in model.stack.parameters()) < before / 4


@torch.inference_mode()
def test_gates_of_neurons_stay():
    class Halved(torch.nn.Module):
        def forward(self, output, context):
            return output / 2

    torch.manual_seed(1)
    source, previous = torch.randint(4, 30, (2, 6)), torch.randint(4, 30, (2, 5))
    outputs = []
    for gated in (True, False):
        torch.manual_seed(2)
        model = build(**TWO_STAGE).eval()
        for layer in model.stack.layers:
            for part in (layer.feed_forward.inner, layer.attention.value):
                if gated:
                    part.output = Halved()
                else:
                    part.weight.mul_(0.5)
                    part.bias.mul_(0.5)
        quantise_(model)
        outputs.append(features(model, source, previous))
    torch.testing.assert_close(*outputs, rtol=1e-3, atol=1e-4)
