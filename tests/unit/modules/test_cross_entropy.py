"""The closed-form loss against fairseq's formula, written out with autograd."""

import pytest
import torch

from tdo_plugin.modules.losses.cross_entropy import smoothed_cross_entropy

PAD = 1


def written_out(logits, target, smoothing):
    log_probs = logits.log_softmax(-1)
    nll = -log_probs.gather(1, target[:, None])[:, 0]
    share = smoothing / (logits.size(1) - 1)
    loss = (1 - smoothing - share) * nll - share * log_probs.sum(-1)
    real = target.ne(PAD)
    return loss * real, nll * real


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("tokens", [1, 300])
def test_values_and_gradients(smoothing, tokens):
    target = torch.randint(0, 11, (tokens,))
    plain = torch.randn(tokens, 11, dtype=torch.float64, requires_grad=True)
    fused = plain.detach().clone().requires_grad_()
    upstream = torch.randn(tokens, dtype=torch.float64)

    loss, nll = smoothed_cross_entropy(fused, target, smoothing, PAD)
    expected_loss, expected_nll = written_out(plain, target, smoothing)
    torch.testing.assert_close(loss, expected_loss, rtol=0, atol=1e-12)
    torch.testing.assert_close(nll, expected_nll, rtol=0, atol=1e-12)

    (loss * upstream).sum().backward()
    (expected_loss * upstream).sum().backward()
    torch.testing.assert_close(fused.grad, plain.grad, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_single(dtype):
    logits = torch.randn(300, 4000).to(dtype).requires_grad_()
    single = logits.detach().float().requires_grad_()
    target = torch.arange(300)
    loss, _ = smoothed_cross_entropy(logits, target, 0.1, PAD)
    expected = written_out(single, target, 0.1)[0]
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected)
    loss.sum().backward()
    expected.sum().backward()
    # the same number, rounded to the type of the logits
    torch.testing.assert_close(logits.grad, single.grad.to(dtype), rtol=1e-2, atol=1e-6)
