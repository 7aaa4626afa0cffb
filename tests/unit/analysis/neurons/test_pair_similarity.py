"""How alike pairs are, by hand and beside scipy."""

import torch
from scipy.stats import spearmanr
from support.neuron_files import importance_of, masks_of

from tdo_plugin.analysis.neurons import pair_similarity

PAIRS = ["a-b", "b-a", "a-c"]


def test_jaccard_by_hand():
    names = "encoder_layers.0.attention.query", "decoder_layers.0.attention.query"
    masks = masks_of(dict(zip(names, ("GG137", "3G4"), strict=True)), PAIRS)
    # a-b has four, b-a three of them, a-c two, one of which all have
    expected = [[1, 3 / 4, 1 / 5], [3 / 4, 1, 1 / 4], [1 / 5, 1 / 4, 1]]
    torch.testing.assert_close(pair_similarity.jaccard(masks), torch.tensor(expected).double())
    # pairs without specific neurons are equal to each other alone
    masks = masks_of({"layers.0.attention.query": "G11"}, PAIRS)
    assert pair_similarity.jaccard(masks).tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]


def test_rank_correlation_beside_scipy():
    theta = torch.randint(5, (4, 50), generator=torch.Generator().manual_seed(1)).double()
    expected = torch.from_numpy(spearmanr(theta.numpy(), axis=1).statistic)
    torch.testing.assert_close(pair_similarity.spearman(theta), expected)
    theta = torch.tensor([[1.0, 2.0, 3.0], [1.0, 10.0, 1000.0], [9.0, 8.0, -1.0]])
    expected = torch.tensor([[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]).double()
    torch.testing.assert_close(pair_similarity.spearman(theta), expected)
    assert pair_similarity.spearman(torch.ones(2, 3)).isnan().all()


def test_kinds_are_means_over_layers():
    importance = importance_of(PAIRS, 2, 8, 16)
    correlations = pair_similarity.spearman_by_kind(importance)
    assert len(correlations) == 6 + 10
    layers = [importance.modules[f"decoder_layers.{n}.cross_attention.key"] for n in (0, 1)]
    expected = (pair_similarity.spearman(layers[0]) + pair_similarity.spearman(layers[1])) / 2
    torch.testing.assert_close(correlations["decoder", "cross_attention", "key"], expected)


def test_tree_by_hand():
    """Average linkage: 0 and 2 at 0.2, then 1 at the mean of 0.9 and 0.7."""
    alike = torch.tensor([[1.0, 0.1, 0.8], [0.1, 1.0, 0.3], [0.8, 0.3, 1.0]], dtype=torch.float64)
    tree = pair_similarity.tree(alike)
    assert [(*sorted(step[:2]), round(step[2], 9), step[3]) for step in tree.steps] == [
        (0, 2, 0.2, 2),
        (1, 3, 0.8, 3),
    ]
    assert sorted(tree.order) == [0, 1, 2] and tree.order.index(1) != 1
    assert [round(max(link), 9) for link in tree.heights] == [0.2, 0.8]


def test_without_scipy_the_extra_is_named(monkeypatch, refused):
    monkeypatch.setattr(pair_similarity, "find_spec", lambda name: None)
    with refused.raised("no scipy", names="tdo_plugin[report]"):
        pair_similarity.check_scipy("--out")
