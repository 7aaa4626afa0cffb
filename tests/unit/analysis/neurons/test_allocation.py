"""Allocations that were worked out by hand."""

import pytest
import torch

from tdo_plugin.analysis.neurons.allocation import (
    allocate,
    general_neurons,
    important,
    relative,
    summarize,
)
from tdo_plugin.neuron_files import Importance, Masks

PAIRS = ("it-en", "ro-en", "en-it", "en-ro")
SOURCE, TARGET = "encoder_layers.0.feed_forward.inner", "decoder_layers.0.attention.query"
# of four neurons the first is the most important on average, 8, against 4.5, 4 and 0
THETA = torch.tensor([[8.0, second, 4.0, 0.0] for second in (9, 4, 1, 4)], dtype=torch.float64)
# The second neuron at k = 0.5. By pair the most is 9, and only it-en has 4.5. By source it has 9,
# ro 4, en the mean of 1 and 4. By target en has the mean of 9 and 4, it 1, ro 4.
SECOND = {"pair": [1, 0, 0, 0], "source": [1, 0, 0, 0], "target": [1, 1, 0, 1]}


def table(pairs=PAIRS, theta=THETA) -> Importance:
    sides = {SOURCE: "source", TARGET: "target"}
    return Importance("taylor", pairs, {SOURCE: theta, TARGET: theta}, sides, "c")


def masks(by, share=0.25, threshold=0.5, importance=None) -> Masks:
    importance = importance or table()
    allocated = allocate(importance, share, threshold, by)
    return Masks(importance.pairs, *allocated, importance.checkpoint)


def test_relative_importance_is_of_one_size_for_all_pairs():
    scale = torch.tensor([[100.0], [1.0], [0.5], [0.0]])
    scaled = relative(table(theta=THETA[3:] * scale)).modules[SOURCE]
    assert scaled[:3].tolist() == [[2.0, 1.0, 1.0, 0.0]] * 3
    assert scaled[3].tolist() == [0.0] * 4


@pytest.mark.parametrize("by", ["pair", "source", "target", "separate"])
def test_every_way_by_hand(by):
    allocated = masks(by)
    for name, side in ((SOURCE, "source"), (TARGET, "target")):
        assert allocated.general[name].tolist() == [True, False, False, False]
        assert allocated.modules[name][:, 0].all()
        expected = SECOND[side if by == "separate" else by]
        assert allocated.modules[name][:, 1].int().tolist() == expected
        # equally important to all, and unimportant to all
        assert allocated.modules[name][:, 2].all() and allocated.modules[name][:, 3].all()


def test_a_group_s_importance_is_the_mean_of_its_pairs():
    theta = torch.tensor([[7.0], [4.0], [10.0], [1.0]], dtype=torch.float64)
    importance = table(theta=theta)  # en has the mean of 7 and 4, it 10, ro 1
    for k, expected in ((0.55, [1, 1, 1, 0]), (0.56, [0, 0, 1, 0])):
        allocated = masks("target", 0, k, importance).modules[TARGET]
        assert allocated[:, 0].int().tolist() == expected


def test_threshold_at_its_ends():
    theta = torch.tensor([[3.0, 5.0, 0.0], [2.0, 5.0, 0.0], [0.0, 1.0, 0.0]])
    assert important(theta, 0, PAIRS[:3]).all()
    assert important(theta, 1, PAIRS[:3]).int().tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    # a pair exactly at the threshold has the neuron
    assert important(torch.tensor([[4.0], [2.0]]), 0.5, ["a", "b"]).all()


def test_shares_and_ties():
    theta = torch.tensor([[1.0, 2.0, 2.0, 0.0, 2.0], [1.0, 2.0, 2.0, 6.0, 2.0]])
    assert not general_neurons(theta, 0).any()
    assert general_neurons(theta, 1).all()
    assert general_neurons(theta, 0.2).tolist() == [False, False, False, True, False]
    assert general_neurons(theta, 0.6).tolist() == [False, True, True, True, False]
    assert int(general_neurons(theta, 0.51).sum()) == 3  # 2.55 of them
    theta = (torch.arange(2048) % 3).double()[None]  # among many that are equal the first
    assert general_neurons(theta, 0.1).nonzero()[:, 0].tolist() == [*range(2, 3 * 205, 3)]


def test_each_module_has_its_own_share():
    importance = table()
    low = Importance("taylor", PAIRS, {SOURCE: THETA, TARGET: THETA / 100}, importance.sides, "c")
    _, general = allocate(low, 0.5, 0.5, "pair")
    assert [int(mask.sum()) for mask in general.values()] == [2, 2]


def test_summary_by_hand():
    summary = summarize(masks("separate"), "separate", table().sides)
    assert (summary.modules, summary.neurons, summary.general, summary.specific) == (2, 8, 2, 6)
    # second neuron: one source, two targets; third and fourth: three groups each, in both modules
    assert summary.groups == (1 + 2 + 4 * 3) / 6
    first = summary.pairs["it-en"]
    assert (first.specific, first.alone, first.share) == (6, 1, 1.0)
    last = summary.pairs["en-it"]
    assert (last.specific, last.alone, last.share) == (4, 0, 6 / 8)
    assert last.without_specific == 0 and last.without_any == ()


def test_alone_is_a_group_s():
    """Both pairs into English have what no other target has."""
    importance = table(theta=torch.tensor([[9.0], [9.0], [1.0], [1.0]]))
    for by, alone, groups in (("target", [2, 2, 0, 0], 1), ("pair", [0, 0, 0, 0], 2)):
        summary = summarize(masks(by, 0, 0.5, importance), by, importance.sides)
        assert [pair.alone for pair in summary.pairs.values()] == alone
        assert summary.groups == groups


def test_summary_of_pairs_without_neurons():
    importance = table(theta=torch.tensor([[9.0, 9.0], [1.0, 1.0], [1.0, 1.0], [1.0, 9.0]]))
    none, some = (
        summarize(masks("pair", share, 0.5, importance), "pair", importance.sides).pairs["ro-en"]
        for share in (0, 0.5)
    )
    assert none.without_any == (SOURCE, TARGET)
    assert (none.specific, none.without_specific, none.share) == (0, 2, 0)
    assert some.without_any == () and some.without_specific == 2
    summary = summarize(masks("pair", 1), "pair", table().sides)
    assert (summary.specific, summary.groups) == (0, None)
