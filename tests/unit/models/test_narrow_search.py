"""Searching among each row's likeliest tokens gives what searching the whole vocabulary gives."""

import pytest
import torch
from fairseq.search import DiverseBeamSearch
from fairseq.sequence_generator import SequenceGenerator
from parity.searching import DICTIONARY, random_model, random_sample, readable

from tdo_plugin.models.narrow_search import BLOCKS, largest, narrow


@pytest.fixture(scope="module")
def model():
    return random_model()


@pytest.fixture(scope="module")
def sample():
    return random_sample()


def hypotheses(generator, sample):
    return readable(generator.generate([], sample))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam_size": 1},
        {"beam_size": 9},
        {"min_len": 4},
        {"unk_penalty": 3.0},
        {"unk_penalty": -30.0},
        {"temperature": 0.5},
        {"len_penalty": 0.2, "max_len_b": 3},
        {"normalize_scores": False},
    ],
    ids=str,
)
def test_hypotheses_and_scores_are_the_whole_vocabularys(model, sample, options):
    options = {"beam_size": 4, "max_len_b": 9, **options}
    stock = hypotheses(SequenceGenerator([model], DICTIONARY, **options), sample)
    own = narrow(SequenceGenerator([model], DICTIONARY, **options))
    assert own.vocab_size == 4 + 2 * options["beam_size"]
    for ours, theirs in zip(hypotheses(own, sample), stock, strict=True):
        assert [tokens for tokens, _ in ours] == [tokens for tokens, _ in theirs]
        for (_, score), (_, other) in zip(ours, theirs, strict=True):
            assert score == pytest.approx(other, abs=1e-6)  # fairseq keeps scores in fp32
    assert len({str(ranked) for ranked in stock}) > 10


def test_logits_are_made_some_rows_at_a_time(model, sample, monkeypatch):
    whole = hypotheses(narrow(SequenceGenerator([model], DICTIONARY, 4, max_len_b=9)), sample)
    monkeypatch.setattr("tdo_plugin.models.narrow_search.ROWS", 7)
    parts = hypotheses(narrow(SequenceGenerator([model], DICTIONARY, 4, max_len_b=9)), sample)
    assert [[one for one, _ in ranked] for ranked in parts] == [
        [one for one, _ in ranked] for ranked in whole
    ]


@pytest.mark.parametrize("size", [5, 8, BLOCKS * 8, BLOCKS * 9, BLOCKS * 20 + 7, 1001])
def test_the_largest_are_topks(size):
    values = torch.randn(13, size, generator=torch.Generator().manual_seed(size))
    count = min(8, size)
    found, places = largest(values, count)
    expected = values.topk(count, 1)
    assert torch.equal(found, expected.values)
    assert torch.equal(places, expected.indices)


def test_other_searches_stay_as_they_are(model):
    generators = (
        SequenceGenerator([model, model], DICTIONARY, 4),
        SequenceGenerator([model], DICTIONARY, 4, no_repeat_ngram_size=2),
        SequenceGenerator(
            [model], DICTIONARY, 4, search_strategy=DiverseBeamSearch(DICTIONARY, 2, 0.5)
        ),
        SequenceGenerator([model], DICTIONARY, 4, tokens_to_suppress=("w7",)),
        SequenceGenerator([model], DICTIONARY, 200),
    )
    for generator in generators:
        parts = generator.model, generator.search, generator.vocab_size
        assert narrow(generator) is generator
        assert (generator.model, generator.search, generator.vocab_size) == parts
