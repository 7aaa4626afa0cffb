"""How positions are counted and what they look like, against fairseq's own modules."""

import pytest
import torch
from fairseq.modules import SinusoidalPositionalEmbedding
from fairseq.utils import make_positions

from tdo_plugin.modules.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from tdo_plugin.modules.translation_model import count_positions

PAD = 1


@pytest.fixture
def tokens():
    """Padding on the left, on the right, on both sides, nowhere."""
    return torch.tensor([[1, 1, 5, 6, 7], [5, 6, 7, 1, 1], [1, 5, 1, 6, 1], [5, 6, 7, 8, 9]])


def test_counts_are_fairseq_s(tokens):
    counted = count_positions(tokens.eq(PAD), PAD)
    assert torch.equal(counted, make_positions(tokens, PAD))
    assert counted[0].tolist() == [1, 1, 2, 3, 4]


@pytest.mark.parametrize("width", [4, 7, 16])
def test_sines_are_fairseq_s(tokens, width):
    positions = count_positions(tokens.eq(PAD), PAD)
    ours = SinusoidalPositions(width, PAD)(positions, tokens.size(1))
    theirs = SinusoidalPositionalEmbedding(width, PAD)(tokens)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)
    assert not ours[tokens.eq(PAD)].any()


def test_the_table_of_sines_grows():
    module = SinusoidalPositions(8, PAD)
    short = count_positions(torch.zeros(1, 5, dtype=torch.bool), PAD)
    before = module(short, 5).clone()
    long = count_positions(torch.zeros(1, 3000, dtype=torch.bool), PAD)
    grown = module(long, 3000)
    assert torch.equal(grown[:, :5], before)
    assert grown.unique(dim=1).size(1) == 3000
    assert not module.state_dict(), "positions are no weights"


def test_the_table_follows_the_model_s_precision():
    module = SinusoidalPositions(8, PAD).half()
    assert module(torch.tensor([[2]]), 1).dtype == torch.float16
    assert module(torch.tensor([[2000]]), 2000).dtype == torch.float16


def test_learned_positions_start_near_nothing_and_end_with_an_error(tokens):
    module = LearnedPositions(64, PAD, 5)
    positions = count_positions(tokens.eq(PAD), PAD)
    vectors = module(positions, 5)
    assert not vectors[tokens.eq(PAD)].any()
    assert vectors[tokens.ne(PAD)].std().item() == pytest.approx(64**-0.5, rel=0.2)
    # the last position has a row of its own
    assert len(module.embedding.weight) == 5 + PAD + 1
    with pytest.raises(ValueError, match="at most 5 positions; it has 6"):
        module(positions, 6)


def test_padding_of_learned_positions_stays_zero(tokens):
    module = LearnedPositions(4, PAD, 5)
    module(count_positions(tokens.eq(PAD), PAD), 5).sum().backward()
    assert not module.embedding.weight.grad[PAD].any()
    assert module.embedding.weight.grad[PAD + 1 :].all()


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_rotary_positions_differ_in_half_precision(precision):
    """Whose own numbers have gaps beyond 256, or 2048."""
    positions = torch.tensor([[256, 257, 2048, 2049]])
    x = torch.linspace(-1, 1, 32).reshape(1, 4, 8).to(precision)
    turned = RotaryPositions(8).to(precision)(x, positions)
    assert turned.dtype == precision
    exact = RotaryPositions(8).double()(x.double(), positions)
    torch.testing.assert_close(turned.double(), exact, rtol=0, atol=0.02)
