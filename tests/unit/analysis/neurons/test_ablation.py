"""Ablation neurons: how many of which, by hand."""

import torch

from tdo_plugin.analysis.neurons.ablation import Ablation, ablated

PAIRS = torch.tensor([[0, 1], [1, 0]])
GENERAL = torch.tensor([True] * 10 + [False] * 6)
SPECIFIC = torch.tensor([[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]], dtype=torch.bool)
MASKS = torch.cat([GENERAL[:10].expand(2, 10), SPECIFIC], 1)
DIGEST = torch.arange(32, dtype=torch.uint8)
STORED = {"masks": MASKS, "general": GENERAL, "pairs": PAIRS, "digest": DIGEST}


def test_general_neurons_go_for_everyone():
    remaining, gone = ablated(STORED, Ablation(general=0.2))
    assert gone == 2
    lost = GENERAL & ~remaining["general"]
    assert int(lost.sum()) == 2
    assert torch.equal(remaining["masks"], MASKS & ~lost)
    assert torch.equal(remaining["pairs"], PAIRS)
    assert not torch.equal(remaining["digest"], STORED["digest"]) and len(remaining["digest"]) == 32
    again, _ = ablated(STORED, Ablation(general=0.2))
    reseeded, _ = ablated(STORED, Ablation(general=0.2, seed=2))
    assert all(torch.equal(again[name], remaining[name]) for name in remaining)
    assert not torch.equal(reseeded["masks"], remaining["masks"])


def test_specific_neurons_of_one_pair():
    remaining, gone = ablated(STORED, Ablation(specific=0.5, pair=(0, 1)))
    assert gone == 2
    lost = MASKS[0] & ~remaining["masks"][0]
    assert int(lost.sum()) == 2 and not (lost & GENERAL).any()
    assert not remaining["masks"][:, lost].any(), "of the other pair as well"
    assert torch.equal(remaining["general"], GENERAL)
    everything, gone = ablated(STORED, Ablation(specific=1.0, pair=(1, 0)))
    assert gone == 4 and torch.equal(everything["masks"][1], GENERAL)


def test_nothing_and_nobody(refused):
    with refused.raised("no neuron", names="must ablate a neuron"):
        ablated(STORED, Ablation(general=0.01))
    with refused.raised("another pair", names="--pair"):
        ablated(STORED, Ablation(specific=0.5, pair=(1, 2)))
