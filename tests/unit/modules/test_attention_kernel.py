"""cuDNN's attention is off around a model's own attention, and nowhere else."""

import pytest
import torch
import torch.nn.functional as F
from support.data import TAG, TASK, TDO, TRAIN, built
from torch.nn.attention import SDPBackend, sdpa_kernel

from tdo_plugin.modules.attention import (
    KeyValue,
    MultiheadAttention,
    any_kernel,
    best_kernel,
)
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.dropout import PlainDropout

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
    """How the process has it."""
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


@pytest.mark.long  # the import of the compiler
def test_it_compiles_in_one_piece():
    attention = MultiheadAttention(16, 2, PlainDropout(0.0)).eval()
    state = torch.randn(2, 2, 3, 8)

    def mixed(query):
        return attention.mix(query, KeyValue(query, query), None)

    compiled = torch.compile(mixed, backend="eager", fullgraph=True)
    assert torch.equal(compiled(state), mixed(state))
