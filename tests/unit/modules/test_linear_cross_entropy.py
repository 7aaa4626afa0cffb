"""Projection and loss in blocks, against all logits and the formula."""

import math
import weakref

import pytest
import torch

from tdo_plugin.modules.losses import linear_cross_entropy as module
from tdo_plugin.modules.losses.cross_entropy import smoothed_cross_entropy
from tdo_plugin.modules.losses.linear_cross_entropy import linear_cross_entropy

PAD, V, D = 1, 19, 6
EXACT = {"rtol": 0, "atol": 1e-11}


@pytest.fixture(params=[(512, 16), (8, 3), (1, 1)], ids=str)
def blocks(request, monkeypatch):
    """So many tokens at a time; the tests' batches end within a block."""
    monkeypatch.setitem(module.ROWS, "cpu", request.param)


def batch(dtype=torch.float64, shape=(5, 7)):
    torch.manual_seed(0)
    features = torch.randn(*shape, D, dtype=dtype, requires_grad=True)
    weight = torch.randn(V, D, dtype=dtype, requires_grad=True)
    target = torch.randint(0, V, shape)
    target[..., -2:] = PAD
    return features, weight, target


def whole(features, weight, target, smoothing):
    logits = (features @ weight.T).flatten(0, -2)
    loss, nll = smoothed_cross_entropy(logits, target.flatten(), smoothing, PAD)
    return loss.sum(), nll.sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("scale", [1.0, -0.3, 128.0])
def test_values_and_gradients(blocks, smoothing, scale):
    features, weight, target = batch()
    loss, nll = linear_cross_entropy(features, weight, target, smoothing, PAD)
    expected, expected_nll = whole(features, weight, target, smoothing)
    torch.testing.assert_close(loss, expected, **EXACT)
    torch.testing.assert_close(nll, expected_nll, **EXACT)
    assert not nll.requires_grad
    ours = torch.autograd.grad(loss * scale, (features, weight))
    theirs = torch.autograd.grad(expected * scale, (features, weight))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-10)


def test_no_token_at_all(blocks):
    features, weight, target = batch()
    loss, nll = linear_cross_entropy(features, weight, target.fill_(PAD), 0.1, PAD)
    loss.backward()
    assert loss == nll == 0
    assert not weight.grad.any() and not features.grad.any()


def test_without_gradients_none_are_made(monkeypatch):
    """A validation: the parameters want gradients, but nobody will ask for them."""
    monkeypatch.setattr(module._Loss, "gradients", None)
    with torch.no_grad():
        loss, _ = linear_cross_entropy(*batch(), 0.1, PAD)
    torch.testing.assert_close(loss, whole(*batch(), 0.1)[0], **EXACT)


@pytest.mark.parametrize("frozen", ["features", "weight", "both"])
def test_what_needs_no_gradient_gets_none(frozen):
    features, weight, target = batch()
    features.requires_grad_(frozen == "weight")
    weight.requires_grad_(frozen == "features")
    loss, _ = linear_cross_entropy(features, weight, target, 0.1, PAD)
    assert loss.requires_grad == (frozen != "both")
    if loss.requires_grad:
        loss.backward()
        expected = torch.autograd.grad(
            whole(features, weight, target, 0.1)[0], weight if weight.requires_grad else features
        )
        gradient = weight.grad if weight.requires_grad else features.grad
        torch.testing.assert_close(gradient, expected[0], **EXACT)


def test_the_gradient_is_taken_once():
    features, weight, target = batch()
    loss, _ = linear_cross_entropy(features, weight, target, 0.1, PAD)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="already taken"):
        loss.backward()


@pytest.mark.parametrize("shape", [(5, 7), (64, 32)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_as_good_as_of_all_logits(blocks, dtype, shape):
    """Also of many blocks, whose gradients are summed in single precision."""
    features, weight, target = batch(dtype, shape)
    exact = [part.detach().double().requires_grad_() for part in (features, weight)]
    scale = 2.0**10 if shape == (5, 7) else 1.0
    loss, _ = linear_cross_entropy(features, weight, target, 0.1, PAD)
    assert loss.dtype == torch.float32
    ours = torch.autograd.grad(loss * scale, (features, weight))
    theirs = torch.autograd.grad(
        whole(features, weight, target, 0.1)[0] * scale, (features, weight)
    )
    truth = torch.autograd.grad(whole(*exact, target, 0.1)[0] * scale, exact)
    for gradient, reference, true in zip(ours, theirs, truth, strict=True):
        assert gradient.dtype == dtype
        error, usual = (
            ((part.double() - true).norm() / true.norm()) for part in (gradient, reference)
        )
        assert error < 1.5 * usual


def test_small_gradients_live_in_half_precision():
    """One token is so likely that the probabilities of the rest are near fp16's smallest number."""
    features = torch.zeros(4, D, dtype=torch.float16, requires_grad=True)
    features.data[:, 0] = 1
    weight = torch.zeros(60_000, D, dtype=torch.float16, requires_grad=True)
    weight.data[7, 0] = 17
    loss, _ = linear_cross_entropy(features, weight, torch.arange(2, 6), 0.0, PAD)
    (loss * 2.0**13).backward()
    probability = 1 / (math.exp(17) + 59_999)
    expected = torch.full((1000,), 4 * 2.0**13 * probability)
    torch.testing.assert_close(weight.grad[100:1100, 0].float(), expected, rtol=2e-3, atol=0)


def test_mixed_precision_region(monkeypatch):
    """As torch computes a product there: in bf16, the parameters' gradients in single."""
    seen, original = [], module._Loss.blocks

    def blocks(self, features, *more, **options):
        seen.append((features.dtype, self.weight.dtype))
        return original(self, features, *more, **options)

    monkeypatch.setattr(module._Loss, "blocks", blocks)
    features, weight, target = batch(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, _ = linear_cross_entropy(features, weight, target, 0.1, PAD)
        expected, _ = whole(features, weight, target, 0.1)
    assert {*seen} == {(torch.bfloat16, torch.bfloat16)}
    ours = torch.autograd.grad(loss, (features, weight))
    theirs = torch.autograd.grad(expected, (features, weight))
    torch.testing.assert_close(loss, expected, rtol=1e-2, atol=0)
    for gradient, reference in zip(ours, theirs, strict=True):
        assert gradient.dtype == torch.float32
        assert (gradient - reference).norm() < 2e-2 * reference.norm()


def test_no_tensor_of_all_logits(monkeypatch):
    from torch.utils._python_dispatch import TorchDispatchMode

    monkeypatch.setitem(module.ROWS, "cpu", (8, 4))
    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            for part in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(part, torch.Tensor):
                    largest = max(largest, part.untyped_storage().nbytes() // part.element_size())
            return result

    torch.manual_seed(0)
    features = torch.randn(64, D, requires_grad=True)
    weight = torch.randn(40, D, requires_grad=True)
    with Watch():
        loss, _ = linear_cross_entropy(features, weight, torch.arange(64) % 38 + 2, 0.1, PAD)
        loss.backward()
    assert largest == 64 * D  # the features; a block of logits is 8 x 40


@pytest.mark.parametrize("trained", [True, False])
def test_a_block_is_freed_before_the_next(monkeypatch, trained):
    monkeypatch.setitem(module.ROWS, "cpu", (8, 3))
    normalise, blocks = module._Loss._normalise, []

    def watched(loss, logits, *rest):
        assert all(block() is None for block in blocks)
        blocks.append(weakref.ref(logits))
        normalise(loss, logits, *rest)

    monkeypatch.setattr(module._Loss, "_normalise", watched)
    with torch.set_grad_enabled(trained):
        linear_cross_entropy(*batch(), 0.1, PAD)
    assert len(blocks) > 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_large_logits_lose_no_digits(dtype):
    """Of their differences, which the loss depends on."""
    logits = (1000 + 5 * torch.randn(64, 200)).to(dtype)
    target = torch.randint(2, 200, (64,))
    sums = linear_cross_entropy(logits, torch.eye(200, dtype=dtype), target, 0.1, PAD)
    expected = linear_cross_entropy(
        logits.double(), torch.eye(200, dtype=torch.float64), target, 0.1, PAD
    )
    for value, reference in zip(sums, expected, strict=True):
        torch.testing.assert_close(value.double(), reference, rtol=5e-7, atol=0)


def test_the_number_of_tokens_changes_nothing(blocks):
    features, weight, target = batch()
    results = []
    for tokens in (None, int(target.ne(PAD).sum())):
        loss, nll = linear_cross_entropy(features, weight, target, 0.1, PAD, tokens)
        results.append((loss, nll, *torch.autograd.grad(loss, (features, weight))))
    assert all(map(torch.equal, *results))


def test_the_number_of_tokens_must_be_right():
    features, weight, target = batch()
    for wrong in (-1, 1):
        tokens = int(target.ne(PAD).sum()) + wrong
        with pytest.raises(RuntimeError, match="as many tokens as it says"):
            linear_cross_entropy(features, weight, target, 0.1, PAD, tokens)
