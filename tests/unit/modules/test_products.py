"""Products by oneDNN: when they are chosen, and that they change rounding alone."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from tdo_plugin.modules import linear
from tdo_plugin.modules.linear import Projection, _onednn, lean_linear, product_for, project_packed
from tdo_plugin.modules.losses import linear_cross_entropy as losses
from tdo_plugin.modules.losses.linear_cross_entropy import linear_cross_entropy
from tdo_plugin.modules.token_context import NO_CONTEXT


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(linear, "mkl_is_narrow", lambda: True)
    monkeypatch.setattr(linear, "MIN_MULTIPLICATIONS", 1)


def both(compute, monkeypatch):
    calls = []

    def onednn(*inputs):
        calls.append(inputs)
        return _onednn(*inputs)

    monkeypatch.setattr(linear, "_onednn", onednn)
    fast = compute()
    assert calls
    calls.clear()
    monkeypatch.setattr(linear, "MIN_MULTIPLICATIONS", 1 << 60)
    usual = compute()
    monkeypatch.setattr(linear, "MIN_MULTIPLICATIONS", 1)
    assert not calls
    return fast, usual


def test_only_large_products_in_single_precision_on_a_cpu(monkeypatch):
    monkeypatch.setattr(linear, "mkl_is_narrow", lambda: True)
    x = torch.zeros(1 << 10, 1 << 6)
    outputs = linear.MIN_MULTIPLICATIONS >> 16
    assert product_for(x, outputs, x.dtype) is _onednn
    assert product_for(x[1:], outputs, x.dtype) is F.linear
    assert product_for(x.double(), outputs, torch.float64) is F.linear
    assert product_for(x, outputs, torch.bfloat16) is F.linear
    assert product_for(x.to("meta"), outputs, x.dtype) is F.linear
    torch.backends.mkldnn.enabled = False
    try:
        assert product_for(x, outputs, x.dtype) is F.linear
    finally:
        torch.backends.mkldnn.enabled = True
    monkeypatch.setattr(linear, "mkl_is_narrow", lambda: False)
    assert product_for(x, outputs, x.dtype) is F.linear


def test_numbers_of_rows_recur(narrow, monkeypatch):
    """However many tokens batches have, oneDNN sees few shapes; results are those of torch."""
    shapes = set()
    multiply = torch.ops.mkldnn._linear_pointwise.default

    def counted(x, weight, *more):
        shapes.add((x.shape, weight.shape))
        return multiply(x, weight, *more)

    pointwise = SimpleNamespace(default=counted)
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", pointwise)
    for rows in range(1_500, 2_000, 7):
        for width, outputs in ((32, 64), (64, 32)):
            x, weight = torch.randn(rows, width), torch.randn(outputs, width)
            x.requires_grad_(), weight.requires_grad_()
            bias = torch.randn(outputs, requires_grad=True)
            grads = []
            for compute in (lean_linear, lambda x, bias, weight: F.linear(x, weight, bias)):
                y = compute(x, bias, weight)
                grads.append((y, *torch.autograd.grad(y.square().sum(), (x, weight, bias))))
            for ours, torchs in zip(*grads, strict=True):
                torch.testing.assert_close(ours, torchs, rtol=1e-4, atol=1e-2)
    assert len(shapes) <= 6 * 5  # three products of two widths, five numbers of rows


def test_the_processor_decides(monkeypatch, tmp_path):
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(linear, "Path", lambda _: info)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    decide = linear.mkl_is_narrow.__wrapped__
    for vendor, width, narrow in (
        ("AuthenticAMD", "AVX512", True),
        ("AuthenticAMD", "AVX2", False),
        ("GenuineIntel", "AVX512", False),
    ):
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda width=width: width)
        info.write_text(f"vendor_id\t: {vendor}\n")
        assert decide() == narrow
    info.unlink()
    assert not decide()


def test_rows_with_gaps(narrow, monkeypatch):
    """As an input that is a part of wider rows; its gradient's product has it as the weight."""
    x = torch.randn(40, 32)[:, :16]
    weight = torch.randn(24, 16, requires_grad=True)
    upstream = torch.randn(40, 24)

    def compute():
        return torch.autograd.grad(lean_linear(x, None, weight), weight, upstream)

    torch.testing.assert_close(*both(compute, monkeypatch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(40,), (3, 7)], ids=str)
def test_values_and_gradients_of_projections(narrow, monkeypatch, shape):
    parts = [Projection(16, 24) for _ in range(3)]
    x = torch.randn(*shape, 16, requires_grad=True)
    upstream = torch.randn(*shape, 72)

    def apart():
        output = torch.cat([lean_linear(x, part.bias, part.weight) for part in parts], -1)
        return [output, *gradients(output)]

    def packed():
        output = torch.cat(project_packed(x, NO_CONTEXT, *parts), -1)
        return [output, *gradients(output)]

    def gradients(output):
        wanted = [x, *(tensor for part in parts for tensor in part.parameters())]
        return torch.autograd.grad(output, wanted, upstream)

    for compute in (apart, packed):
        torch.testing.assert_close(*both(compute, monkeypatch), rtol=1e-5, atol=1e-5)


def test_values_and_gradients_of_the_loss(narrow, monkeypatch):
    monkeypatch.setitem(losses.ROWS, "cpu", (16, 4))
    monkeypatch.setattr(losses, "ENTRIES", 100)
    torch.manual_seed(0)
    features = torch.randn(40, 16, requires_grad=True)
    weight = torch.randn(250, 16, requires_grad=True)
    target = torch.randint(2, 250, (40,))

    def compute():
        loss, nll = linear_cross_entropy(features, weight, target, 0.1, 1)
        return [loss, nll, *torch.autograd.grad(loss, (features, weight))]

    torch.testing.assert_close(*both(compute, monkeypatch), rtol=1e-5, atol=1e-5)
