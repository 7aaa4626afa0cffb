"""Random numbers that belong to sentences: their distribution, and what they do not depend on."""

from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary

from tdo_plugin.evaluation.decoding.sentence_sampling import SentenceSampling

PROBABILITIES = torch.tensor([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])


def sampling(topk: int = -1, key: tuple[int, ...] = (1, 0)) -> SentenceSampling:
    return SentenceSampling(Dictionary(), topk, key)


def rows(count: int, beams: int = 1) -> torch.Tensor:
    return PROBABILITIES.log().expand(count, beams, -1)


def first(search: SentenceSampling, ids: list[int], beams: int = 1) -> torch.Tensor:
    scores = torch.zeros(len(ids), beams, 0)
    return search.step(0, rows(len(ids), beams), scores, None, torch.tensor(ids))[1]


@pytest.mark.parametrize("step", [0, 3])
def test_tokens_come_as_often_as_they_are_likely(step):
    ids = torch.arange(4000)
    scores = torch.zeros(len(ids), 2, step)
    drawn_scores, tokens, beams = sampling().step(step, rows(len(ids), 2), scores, None, ids)
    counts = Counter(tokens.flatten().tolist())
    assert counts.keys() == {1, 3, 4}
    for token, count in counts.items():
        assert count / 8000 == pytest.approx(PROBABILITIES[token].item(), abs=0.025)
    assert torch.equal(drawn_scores, PROBABILITIES.log()[tokens])
    assert torch.equal(beams, torch.tensor([0, 1]).expand(len(ids), 2))
    # beams draw for themselves
    both = (tokens == tokens[:, :1]).all(1).float().mean()
    assert both.item() == pytest.approx(PROBABILITIES.square().sum().item(), abs=0.04)


def test_the_likeliest_alone():
    counts = Counter(first(sampling(2), list(range(2000))).flatten().tolist())
    assert counts.keys() == {1, 3}
    assert counts[1] / 2000 == pytest.approx(0.5 / 0.8, abs=0.04)
    everything = first(sampling(1000), list(range(200)))  # more than there are
    assert set(everything.flatten().tolist()) == {1, 3, 4}


def test_a_sentence_draws_the_same_in_any_batch():
    together = first(sampling(), list(range(50)), 3)
    assert torch.equal(together[[7, 30]], first(sampling(), [7, 30], 3))
    for key in ((2, 0), (1, 1)):
        assert not torch.equal(together, first(sampling(key=key), list(range(50)), 3))
    scores = torch.zeros(50, 1, 1)
    later = sampling().step(1, rows(50), scores, None, torch.arange(50))[1]
    assert not torch.equal(first(sampling(), list(range(50))), later)


def test_scores_add_up_and_a_number_on_the_edge_is_no_token_without_probability(monkeypatch):
    scores = torch.tensor([[[-1.0, -2.5]]])
    drawn_scores, tokens, _ = sampling().step(2, rows(1), scores, None, torch.tensor([4]))
    assert drawn_scores.item() == pytest.approx(-2.5 + PROBABILITIES[tokens].log().item())
    edge = SimpleNamespace(random=lambda count: [1.0] * count)
    monkeypatch.setattr("numpy.random.default_rng", lambda key: edge)
    assert first(sampling(), [0]).item() == 4
