"""The losses of TPDM against loops over tokens, written from the equations (float64)."""

import math

import pytest
import torch
from support.built_models import ENCODER_DECODER, TWO_STAGE

from tdo_plugin.modules.losses import tpdm_loss
from tdo_plugin.modules.methods.position_generator import PositionGenerator
from tdo_plugin.modules.spec import ModelSpec

EXACT = {"rtol": 0, "atol": 1e-10}
LENGTHS, WIDTH, TAU = (5, 1, 3), 8, 0.05


@pytest.fixture
def batch():
    """Generated and positional embeddings and padding of three sentences, one of one token."""
    torch.manual_seed(3)
    generated, positional = torch.randn(2, 3, 5, WIDTH, dtype=torch.float64)
    padding = torch.arange(5) >= torch.tensor(LENGTHS)[:, None]
    return generated.requires_grad_(), positional.requires_grad_(), padding


def cosine(a, b):
    return (a * b).sum() / (a.pow(2).sum().sqrt() * b.pow(2).sum().sqrt())


def log_p(generated, positional, row, i, j):
    """Equation 6 with the exponential of the works it follows."""
    scores = [
        (cosine(generated[row, i], positional[row, k]) / TAU).exp() for k in range(LENGTHS[row])
    ]
    return (scores[j] / sum(scores)).log()


def tokens():
    return [(row, j) for row, length in enumerate(LENGTHS) for j in range(length)]


def losses_of(generated, positional, padding):
    """Of the generator, of the mutual information and of positions, by token."""
    likelihood = tpdm_loss.log_likelihood(generated, positional, padding, TAU)
    anchors = tpdm_loss.batch_mean_anchors(positional, padding)
    return (
        tpdm_loss.generator_loss(likelihood, padding),
        tpdm_loss.mutual_information(likelihood, padding),
        tpdm_loss.position_loss(positional, anchors, padding, TAU),
    )


def same_loss_and_gradients(ours, loop, *inputs):
    torch.testing.assert_close(ours, loop, **EXACT)
    gradients = torch.autograd.grad(ours, inputs, allow_unused=True)
    expected = torch.autograd.grad(loop, inputs, allow_unused=True)
    for gradient, reference in zip(gradients, expected, strict=True):
        assert (gradient is None) == (reference is None)
        if gradient is not None:
            torch.testing.assert_close(gradient, reference, **EXACT)


def test_generator_loss_is_equation_8(batch):
    generated, positional, padding = batch
    losses, _, _ = losses_of(generated, positional, padding)
    assert not losses[padding].any()
    loop = -sum(log_p(generated, positional, row, j, j) for row, j in tokens())
    same_loss_and_gradients(losses.sum(), loop, generated, positional)


def test_bound_is_equation_1(batch):
    generated, positional, padding = batch
    _, bounds, _ = losses_of(generated, positional, padding)
    assert not bounds[padding].any()
    loop = 0
    for row, j in tokens():
        mean = (
            sum(log_p(generated, positional, row, k, j) for k in range(LENGTHS[row])) / LENGTHS[row]
        )
        bound = log_p(generated, positional, row, j, j) - mean
        torch.testing.assert_close(bounds[row, j], bound, **EXACT)
        loop = loop + bound
    same_loss_and_gradients(bounds.sum(), loop, generated, positional)


@pytest.mark.parametrize("anchor", ["batch mean", "given"])
def test_position_loss_is_equation_9(batch, anchor):
    _, positional, padding = batch
    anchors = loop_anchors = torch.randn(5, WIDTH, dtype=torch.float64, requires_grad=True)
    if anchor == "batch mean":
        anchors = tpdm_loss.batch_mean_anchors(positional, padding)
        means = [
            torch.stack([positional[row, k] for row in range(3) if k < LENGTHS[row]]).mean(0)
            for k in range(5)
        ]
        loop_anchors = torch.stack(means)
        torch.testing.assert_close(anchors, loop_anchors, **EXACT)
    losses = tpdm_loss.position_loss(positional, anchors, padding, TAU)
    assert not losses[padding].any()
    loop = 0
    for row, j in tokens():
        scores = [
            (cosine(positional[row, j], loop_anchors[k]) / TAU).exp() for k in range(LENGTHS[row])
        ]
        loop = loop - (scores[j] / sum(scores)).log()
    inputs = (positional,) if anchor == "batch mean" else (positional, loop_anchors)
    same_loss_and_gradients(losses.sum(), loop, *inputs)


def test_nothing_depends_on_what_stands_at_padding(batch):
    generated, positional, padding = batch
    losses = []
    for junk in (1.0, -7.0):
        junk_generated, junk_positional = (x.detach().clone() for x in (generated, positional))
        junk_generated[padding], junk_positional[padding] = junk, junk**2
        losses.append(losses_of(junk_generated, junk_positional, padding))
    torch.testing.assert_close(losses[0], losses[1], rtol=0, atol=0)


def test_a_sentence_of_one_token_costs_nothing(batch):
    assert not any(losses.any() for losses in losses_of(*(part[1:2] for part in batch)))


def generator(norm="post"):
    torch.manual_seed(5)
    sizes = {**ENCODER_DECODER, "model_dim": WIDTH}
    spec = ModelSpec(**sizes, norm=norm, tpdm_layer=1, dropout=0.3)
    return PositionGenerator.of(spec).double()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_bound_is_zero_where_meaning_tells_no_tokens_apart(batch, norm):
    _, positional, padding = batch
    constant = torch.randn(3, 1, WIDTH, dtype=torch.float64).expand(3, 5, WIDTH)
    _, bounds, _ = losses_of(generator(norm)(constant, padding), positional, padding)
    torch.testing.assert_close(bounds, torch.zeros_like(bounds), **EXACT)


def test_bound_is_positive_where_meaning_gives_positions_away(batch):
    _, positional, padding = batch
    _, bounds, _ = losses_of(positional, positional, padding)
    several = ~padding & (torch.tensor(LENGTHS) > 1)[:, None]
    assert (bounds[several] > 0).all()


def test_generator_sees_the_sentence_and_neither_order_nor_padding(batch):
    semantic, _, padding = batch
    network = generator()
    guessed = network(semantic, padding)
    torch.testing.assert_close(network(semantic, padding), guessed, rtol=0, atol=0)  # no dropout
    for row, length in enumerate(LENGTHS):
        sentence, unpadded = semantic[row : row + 1, :length], padding[row : row + 1, :length]
        torch.testing.assert_close(network(sentence, unpadded)[0], guessed[row, :length], **EXACT)
        backwards = network(sentence.flip(1), unpadded)
        torch.testing.assert_close(backwards[0].flip(0), guessed[row, :length], **EXACT)
    changed = semantic.detach().clone()
    changed[0, 4] += 1
    assert not torch.isclose(network(changed, padding)[0, :4], guessed[0, :4]).all()


@pytest.mark.parametrize("layer", [1, 2])
def test_generator_is_as_large_as_the_layer_that_it_watches(layer):
    rates = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), 0.2)
    sizes = {**TWO_STAGE, "model_dim": WIDTH, "tpdm_layer": layer, **rates}
    spec = ModelSpec(**sizes, laln="both", num_languages=3)
    network = PositionGenerator.of(spec)
    inner = {1: spec.stage1_ffn_dim, 2: spec.stage2_ffn_dim}[layer]
    count = sum(parameter.numel() for parameter in network.parameters())
    square = WIDTH * WIDTH + WIDTH
    assert count == 4 * square + 2 * WIDTH * inner + inner + WIDTH + 2 * 2 * WIDTH + square
    x, padding = torch.randn(2, 3, WIDTH), torch.zeros(2, 3, dtype=torch.bool)
    assert torch.equal(network(x, padding), network(x, padding))


def test_left_aligned():
    padding = torch.tensor([[True, True, False, False], [False, False, True, False]])
    order = tpdm_loss.left_aligned(padding)
    assert order.tolist() == [[2, 3, 0, 1], [0, 1, 3, 2]]


# --- gates -----------------------------------------------------------------------------------


def test_gates_lean_to_their_ends():
    logits = torch.full((20_000,), 0.8, dtype=torch.float64, requires_grad=True)
    gates = tpdm_loss.RelaxedBernoulli(0.7).draw(logits)
    assert ((gates > 0) & (gates < 1)).all()
    share = (gates > 0.5).double().mean()
    assert float(share) == pytest.approx(float(logits[0].detach().sigmoid()), abs=0.01)
    sharp = tpdm_loss.RelaxedBernoulli(0.01).draw(logits)
    assert ((sharp - 0.5).abs() > 0.45).double().mean() > 0.9
    assert (torch.autograd.grad(gates.sum(), logits)[0] > 0).all()


@pytest.mark.parametrize("drawn", [0.0, 1.0])
def test_gates_at_the_ends_of_chance_have_a_gradient(drawn, monkeypatch):
    monkeypatch.setattr(torch, "rand_like", lambda x: torch.full_like(x, drawn))
    logits = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    gate = tpdm_loss.RelaxedBernoulli(1.0).draw(logits)
    assert gate.item() == pytest.approx(abs(drawn - 1e-6), rel=1e-9)
    assert torch.autograd.grad(gate, logits)[0].item() == pytest.approx(1e-6, rel=1e-3)


def test_hard_gates_are_open_as_often_as_they_say():
    kind = tpdm_loss.HardConcrete(0.7)
    for logit in (-1.0, 0.0, 2.0):
        logits = torch.full((50_000,), logit, dtype=torch.float64)
        gates = kind.draw(logits)
        assert gates.min() >= 0 and gates.max() <= 1
        assert (gates == 0).any() and (gates == 1).any()
        open_ = float(kind.open(logits)[0].sigmoid())
        assert float((gates > 0).double().mean()) == pytest.approx(open_, abs=0.01)


@pytest.mark.parametrize("prior", [0.2, 0.5])
def test_prior_divergence(prior):
    logits = torch.linspace(-4, 4, 9, dtype=torch.float64)
    divergences = tpdm_loss.prior_divergence(logits, prior)
    for logit, divergence in zip(logits.tolist(), divergences.tolist(), strict=True):
        q = 1 / (1 + math.exp(-logit))
        expected = q * math.log(q / prior) + (1 - q) * math.log((1 - q) / (1 - prior))
        assert divergence == pytest.approx(expected, abs=1e-12)
    at_prior = torch.tensor(math.log(prior / (1 - prior)), dtype=torch.float64)
    assert float(tpdm_loss.prior_divergence(at_prior, prior)) == pytest.approx(0, abs=1e-12)
    extreme = tpdm_loss.prior_divergence(torch.tensor([-200.0, 200.0]), prior)
    assert extreme.isfinite().all()
