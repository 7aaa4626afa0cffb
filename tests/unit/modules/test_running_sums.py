"""The running sums of merged attention, and the means of a whole target that they equal."""

import pytest
import torch

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.masks import target_mask
from tdo_plugin.modules.methods.merged_layer import mean_of_visible
from tdo_plugin.modules.methods.running_sums import RunningSums
from tdo_plugin.modules.target_cache import TargetCache

SOURCE = torch.zeros(3, 2, dtype=torch.bool)


def padding(left, length):
    """True at so many first positions of each row."""
    return torch.arange(length)[None] < torch.tensor(left)[:, None]


def step_by_step(values, hidden):
    store, means = RunningSums(1), []
    for place in range(values.size(1)):
        store.begin(target_mask(SOURCE, 1, hidden[:, : place + 1]))
        means.append(store.mean(0, values[:, place : place + 1]))
    return torch.cat(means, 1)


def test_nothing_that_is_no_number_comes_from_padding():
    values = torch.full((3, 4, 2), float("nan"))
    hidden = padding([1, 2, 3], 4)
    values[~hidden] = 1.0
    assert torch.equal(step_by_step(values, hidden)[~hidden], values[~hidden])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_sums_are_kept_in_single_precision(dtype):
    """A sum in half precision would stop growing long before."""
    block, blocks = 500, 10
    values = torch.ones(1, block, 1, dtype=dtype)
    hidden = torch.zeros(1, block * blocks, dtype=torch.bool)
    store = RunningSums(1)
    for number in range(1, blocks + 1):
        store.begin(target_mask(SOURCE[:1], block, hidden[:, : number * block]))
        means = store.mean(0, values)
    assert means.dtype == dtype
    assert torch.equal(means, values)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_a_whole_target_in_half_precision(dtype):
    values = torch.randn(3, 100, 4)
    visible = target_mask(SOURCE, 100, padding([0, 3, 0], 100)).target[:, 0]
    means = mean_of_visible(values.to(dtype), visible)
    assert means.dtype == dtype
    torch.testing.assert_close(means.float(), mean_of_visible(values, visible), rtol=0, atol=0.02)


def test_a_store_is_of_one_kind():
    new = torch.zeros(3, 2, 1, 4)
    with pytest.raises(TypeError, match="RunningSums keeps no keys and values"):
        RunningSums(1).extend(0, KeyValue(new, new))
    with pytest.raises(TypeError, match="TargetCache keeps no sums"):
        TargetCache(1).mean(0, new[:, 0])
