"""Who sees whom: where nothing is padded, the same without a tensor for it."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

from tdo_plugin.modules.masks import SourceMask, causal_mask, target_mask

NONE = torch.zeros(3, 5, dtype=torch.bool)


def visible(mask, *shape):
    return torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)


@pytest.mark.parametrize("causal", [False, True])
def test_source_without_padding(causal):
    with_tensor, without = (SourceMask(NONE, padded, causal) for padded in (True, False))
    shape = (3, 1, 5, 5)
    assert torch.equal(visible(with_tensor.whole, *shape), visible(without.whole, *shape))
    assert causal or without.whole is None


@pytest.mark.parametrize("causal", [False, True])
def test_no_query_is_left_with_nothing_to_see(causal):
    """A sentence may have no token at all; a softmax over nothing is not a number everywhere."""
    padding = NONE.clone()
    padding[0, :3] = padding[1] = True
    whole = visible(SourceMask(padding, True, causal).whole, 3, 1, 5, 5)
    assert whole.any(-1).all()
    assert not (whole & padding[:, None, None, :])[0, :, 3:].any()  # a token sees no padding


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_one_position_sees_what_it_sees_among_all(causal, padded):
    padding = NONE.clone()
    padding[1, :2] = padding[2, 3:] = padded
    mask = SourceMask(padding, padded, causal)
    positions = torch.tensor([0, 2, 1])
    whole = visible(mask.whole, 3, 1, 5, 5)
    expected = whole[torch.arange(3), :, positions][:, :, None]
    assert torch.equal(visible(mask.at(positions), 3, 1, 1, 5), expected)
    assert causal or padded or mask.at(positions) is None


@pytest.mark.parametrize("new", [1, 3, 4])
def test_target_without_padding(new):
    padding = torch.zeros(3, 4, dtype=torch.bool)
    with_tensor, without = (target_mask(NONE, new, padding, padded) for padded in (True, False))
    for kind, keys in (("joint", 9), ("over_target", 4), ("over_source", 5)):
        shape = (3, 1, new, keys)
        first, second = (visible(getattr(mask, kind), *shape) for mask in (with_tensor, without))
        assert torch.equal(first, second), kind
    assert without.over_source is None


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 6), (4, 4), (3, 8)])
def test_torch_s_description_means_the_same(queries, keys):
    query = torch.randn(2, 2, queries, 4)
    key, value = torch.randn(2, 2, 2, keys, 4)
    masks = causal_mask(queries, keys, query.device), causal_lower_right(queries, keys)
    outputs = [F.scaled_dot_product_attention(query, key, value, mask) for mask in masks]
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize("kind", ["joint", "over_target", "over_source"])
def test_numbers_hide_what_a_mask_hides(kind):
    padding = torch.tensor([[False, True, False], [True, True, False]])
    mask = target_mask(padding, 2, torch.zeros(2, 4, dtype=torch.bool))
    shown, numbers = getattr(mask, kind), getattr(mask.as_numbers(torch.float64), kind)
    scores = torch.randn(2, 1, 2, numbers.size(-1), dtype=torch.float64)
    hidden = scores.masked_fill(~shown, float("-inf"))
    assert torch.equal((scores + numbers).softmax(-1), hidden.softmax(-1))
