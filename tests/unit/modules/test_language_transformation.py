"""Grouped products against one product for each sentence, and how the matrices start."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tdo_plugin.modules.methods.language_transformation import LanguageTransformation
from tdo_plugin.modules.token_context import TokenContext


def made(start="xavier", languages=5, width=6):
    torch.manual_seed(0)
    return LanguageTransformation(languages, width, start).double()


@pytest.mark.parametrize("rows", [[3], [0, 0, 0], [4, 1, 4, 0, 1], [2, 0, 1, 0, 3]], ids=str)
def test_values_and_gradients(rows):
    part, languages = made(), TokenContext.of_targets(torch.tensor(rows))
    x = torch.randn(len(rows), 3, 6, dtype=torch.float64, requires_grad=True)
    expected = torch.stack(
        [sentence @ part.weight[language] for sentence, language in zip(x, rows, strict=True)]
    )
    weighting = torch.randn_like(expected)
    expected_gradients = torch.autograd.grad((expected * weighting).sum(), [x, part.weight])
    for product in (
        part(x, languages[:, None]),
        part(x.flatten(0, 1), languages.repeat_interleave(3)).view_as(x),
    ):
        torch.testing.assert_close(product, expected, rtol=0, atol=1e-12)
        gradients = torch.autograd.grad((product * weighting).sum(), [x, part.weight])
        torch.testing.assert_close(gradients, expected_gradients, rtol=0, atol=1e-12)


def test_no_position_is_multiplied_twice():
    part, x = made(), torch.randn(8, 3, 6, dtype=torch.float64)
    with FlopCounterMode(display=False) as counter:
        part(x, TokenContext.of_targets(torch.arange(8)[:, None] % 5))
    assert counter.get_total_flops() == 2 * x.numel() * 6


def test_starts():
    width, languages = 16, 40
    identity, xavier, authors = (
        made(start, languages, width).weight.detach() for start in ("identity", "xavier", "authors")
    )
    assert torch.equal(identity, torch.eye(width).double().expand(languages, -1, -1))
    for weight, limit in (
        (xavier, math.sqrt(6 / (2 * width))),
        (authors, math.sqrt(6 / (languages + width**2))),
    ):
        assert 0.99 * limit < weight.abs().max() <= limit
        assert weight.std() == pytest.approx(limit / math.sqrt(3), rel=0.02)
