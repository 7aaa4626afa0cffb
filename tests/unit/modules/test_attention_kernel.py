"""Which kernel attention takes: not cuDNN's, and in bf16 on a CPU the products written out."""

import pytest
import torch
import torch.nn.functional as F
from support.built_models import ENCODER_DECODER, MERGED, PAD, TWO_STAGE, build
from support.data import TAG, TASK, TDO, TRAIN, built
from torch.nn.attention import SDPBackend, sdpa_kernel

from tdo_plugin.modules import attention
from tdo_plugin.modules.attention import KeyValue, any_kernel, best_kernel, written_out
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.masks import additive

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO)
TOKENS = torch.tensor([[4, 5, 6, 2]])


@pytest.fixture
def allowed(monkeypatch):
    """Whether torch might take cuDNN's attention, of every attention that is computed."""
    seen = []
    original = F.scaled_dot_product_attention

    def attention(*tensors, **options):
        seen.append(torch.backends.cuda.cudnn_sdp_enabled())
        return original(*tensors, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", attention)
    return seen


@pytest.fixture(params=[True, False])
def before(request):
    previous = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(request.param)
    yield request.param
    torch.backends.cuda.enable_cudnn_sdp(previous)


def test_models_with_different_choices_leave_each_other_and_the_process_alone(
    allowed, before, monkeypatch
):
    _, without, _ = built(*BASE)
    monkeypatch.setattr(Builder, "kernel", staticmethod(any_kernel))
    _, with_any, _ = built(*BASE)
    assert torch.backends.cuda.cudnn_sdp_enabled() == before
    with_any.load_state_dict(without.state_dict())
    outputs = []
    for model, expected in ((without, False), (with_any, before), (without, False)):
        outputs.append(model.eval()(TOKENS, None, TOKENS)[0])
        assert {*allowed} == {expected}
        allowed.clear()
        assert torch.backends.cuda.cudnn_sdp_enabled() == before
    assert torch.equal(outputs[0], outputs[1]) and torch.equal(outputs[0], outputs[2])


def test_the_switch_is_put_back_after_an_error(before):
    wrong = torch.zeros(1, 1, 2, 4)
    with pytest.raises(RuntimeError):
        best_kernel(wrong, wrong[..., :3], wrong, None, 0.0)
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_kernels_that_a_caller_switched_off_stay_off():
    state = torch.randn(1, 2, 3, 8)
    with sdpa_kernel(SDPBackend.MATH):
        output = best_kernel(state, state, state, None, 0.0)
        assert not torch.backends.cuda.flash_sdp_enabled()
        assert torch.equal(output, any_kernel(state, state, state, None, 0.0))


def test_it_compiles_in_one_piece():
    part = attention.MultiheadAttention(16, 2, PlainDropout(0.0)).eval()
    state = torch.randn(2, 2, 3, 8)

    def mixed(query):
        return part.mix(query, KeyValue(query, query), None)

    compiled = torch.compile(mixed, backend="eager", fullgraph=True)
    assert torch.equal(compiled(state), mixed(state))


def masked_tensors(dtype):
    generator = torch.Generator().manual_seed(1)
    shapes = (3, 2, 5, 8), (3, 2, 7, 8), (3, 2, 7, 8)
    query, key, value = (torch.randn(*shape, generator=generator) for shape in shapes)
    padding = torch.tensor([7, 4, 1])[:, None] > torch.arange(7)
    masks = None, padding[:, None, None], torch.ones(5, 7, dtype=torch.bool).tril(2)
    return [tensor.to(dtype).requires_grad_() for tensor in (query, key, value)], masks


@pytest.mark.parametrize("number", range(3))
def test_the_products_written_out_are_torchs_attention(number):
    tensors, masks = masked_tensors(torch.float64)
    outputs = [kernel(*tensors, masks[number], 0.0) for kernel in (written_out, any_kernel)]
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-12)
    gradients = [torch.autograd.grad(output.sin().sum(), tensors) for output in outputs]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)


def test_dropout_of_the_products_written_out_keeps_the_mean():
    weights = torch.ones(1, 1, 1, 64)  # each key is looked at alike
    value = torch.ones(1, 1, 64, 8)
    torch.manual_seed(1)
    outputs = [written_out(weights[..., :8], value, value, None, 0.5) for _ in range(200)]
    assert torch.stack(outputs).std() > 0.05
    assert torch.stack(outputs).mean().sub(1).abs() < 0.03


@pytest.mark.parametrize("number", range(3))
def test_bf16_on_a_cpu_is_as_exact_as_torchs_own_kernel(number):
    tensors, masks = masked_tensors(torch.bfloat16)
    exact = any_kernel(*(tensor.double() for tensor in tensors), masks[number], 0.0)
    errors = [
        (kernel(*tensors, masks[number], 0.0) - exact).abs().max().item()
        for kernel in (best_kernel, any_kernel)
    ]
    assert errors[0] < max(2 * errors[1], 0.02)
    assert torch.equal(
        best_kernel(*tensors, masks[number], 0.0), written_out(*tensors, masks[number], 0.0)
    )


def test_other_types_have_torchs_own_kernel():
    tensors, masks = masked_tensors(torch.float32)
    for mask in masks:
        assert torch.equal(best_kernel(*tensors, mask, 0.0), any_kernel(*tensors, mask, 0.0))


@pytest.mark.parametrize("number", range(3))
@torch.no_grad()
def test_the_few_queries_of_a_search_have_the_same_attention(number, monkeypatch):
    """With the numbers that are made of a mask once for all layers; masks keep torch's kernel."""
    tensors, masks = masked_tensors(torch.float64)
    mask = masks[number]
    monkeypatch.setattr(attention, "MANY", 3)
    monkeypatch.setattr(attention, "CudnnOff", None)  # of the other kernels
    numbers = None if mask is None else additive(mask, torch.float64, -1e300)
    actual, expected = best_kernel(*tensors, numbers, 0.0), any_kernel(*tensors, mask, 0.0)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


TOPOLOGIES = {
    "two stages": TWO_STAGE,
    "causal source": {**TWO_STAGE, "target_layer": 0, "source_attention": "causal"},
    "encoder-decoder": ENCODER_DECODER,
    "merged": MERGED,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_training_needs_no_other_kernel(topology, dtype):
    """On a GPU as here: what is asked for is what a fused kernel can give, masks included."""
    model = build(**TOPOLOGIES[topology]).to(dtype)
    source, previous = torch.tensor([[[PAD, 5, 6], [4, 5, 6]], [[2, 8, 9], [2, 8, PAD]]])
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        model.logits(model.decode(previous, model.encode(source))).float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
