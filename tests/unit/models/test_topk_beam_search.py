"""Searching among each row's likeliest tokens gives what searching the whole vocabulary gives."""

import copy
from types import SimpleNamespace

import pytest
import torch
from fairseq.dataclass.configs import GenerationConfig
from fairseq.search import DiverseBeamSearch
from fairseq.sequence_generator import SequenceGenerator
from support.parity_cases import CACHES, name_of
from support.searching import DICTIONARY, end_sooner, random_model, random_sample, readable

from tdo_plugin.errors import UserError
from tdo_plugin.models import topk_beam_search
from tdo_plugin.models.topk_beam_search import BLOCKS, TopKGenerator, largest, use_topk
from tdo_plugin.modules.linear import lean_product


@pytest.fixture(scope="module", params=CACHES, ids=name_of)
def model(request):
    return random_model(request.param)


@pytest.fixture(scope="module")
def sample():
    return random_sample()


def both(model, sample, **options):
    """What fairseq's generator finds, and what the faster one does."""
    stock, topk = (SequenceGenerator([model], DICTIONARY, 4, max_len_b=9) for _ in range(2))
    return stock.generate([], sample, **options), use_topk(topk).generate([], sample, **options)


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
        {"max_len_b": 9, "max_len": 5},
    ],
    ids=str,
)
def test_hypotheses_and_scores_are_the_whole_vocabularys(model, sample, options):
    stock, generator = (
        SequenceGenerator([model], DICTIONARY, **{"beam_size": 4, "max_len_b": 9, **options})
        for _ in range(2)
    )
    generator = use_topk(generator)
    assert type(generator) is TopKGenerator
    expected = stock.generate([], sample)
    usual = not {"len_penalty", "normalize_scores"} & options.keys()
    equal(generator.generate([], sample), expected, usual)
    assert len({str(ranked) for ranked in readable(expected)}) > 10


def test_logits_are_made_some_rows_at_a_time(model, sample, monkeypatch):
    monkeypatch.setattr(topk_beam_search, "ROWS", 7)
    equal(*both(model, sample))


@pytest.mark.parametrize("size", [5, 8, BLOCKS * 8, BLOCKS * 9, BLOCKS * 20 + 7, 1001])
def test_the_largest_are_topks(size):
    values = torch.randn(13, size, generator=torch.Generator().manual_seed(size))
    count = min(8, size)
    top, places = largest(values, count)
    expected = values.topk(count, 1)
    assert torch.equal(top, expected.values)
    assert torch.equal(places, expected.indices)


def other_probabilities():
    """A model whose probabilities are its own matter."""
    model = random_model()

    class Own(type(model)):
        def get_normalized_probs(self, *args, **options):
            return super().get_normalized_probs(*args, **options)

    model.__class__ = Own
    return model


def test_scores_that_are_no_numbers_are_refused(sample):
    model = random_model()
    with torch.no_grad():
        model.core.embeddings.source.weight.fill_(float("nan"))
    with pytest.raises(UserError, match="scores must be numbers"):
        use_topk(SequenceGenerator([model], DICTIONARY, 4, max_len_b=9)).generate([], sample)


def test_other_searches_stay_as_they_are(model):
    generators = (
        SequenceGenerator([model, model], DICTIONARY, 4),
        SequenceGenerator([model], DICTIONARY, 4, no_repeat_ngram_size=2),
        SequenceGenerator(
            [model], DICTIONARY, 4, search_strategy=DiverseBeamSearch(DICTIONARY, 2, 0.5)
        ),
        SequenceGenerator([model], DICTIONARY, 4, tokens_to_suppress=("w7",)),
        SequenceGenerator([model], DICTIONARY, 200),
        SequenceGenerator([model], DICTIONARY, 4, match_source_len=True),
        SequenceGenerator([model], DICTIONARY, 4, eos=17),
        SequenceGenerator([model], DICTIONARY, 4, lm_model=torch.nn.Identity()),
        SequenceGenerator([other_probabilities()], DICTIONARY, 4),
    )
    for generator in generators:
        assert type(use_topk(generator)) is SequenceGenerator


def equal(ours, theirs, usual=True):
    for ranked, reference in zip(ours, theirs, strict=True):
        for hypothesis, expected in zip(ranked, reference, strict=True):
            assert hypothesis["tokens"].tolist() == expected["tokens"].tolist()
            # fairseq keeps scores in fp32
            assert float(hypothesis["score"]) == pytest.approx(float(expected["score"]), abs=1e-6)
            parts, expected_parts = hypothesis["positional_scores"], expected["positional_scores"]
            torch.testing.assert_close(parts, expected_parts.to(parts), rtol=0, atol=1e-6)
            assert hypothesis["alignment"].tolist() == expected["alignment"].tolist() == []
            mean = float(parts.mean())
            assert not usual or mean == pytest.approx(float(hypothesis["score"]), abs=2e-5)


@pytest.mark.parametrize("patience", [1, 3, 8])
def test_sentences_that_are_done_may_stay_for_a_while(sample, monkeypatch, patience):
    """As on a GPU, which is asked only now and then."""
    original = topk_beam_search.unfinished

    def patient(still, step):
        return original(still, step) if (step + 1) % patience == 0 else None

    model = random_model()
    end_sooner(model)
    monkeypatch.setattr(topk_beam_search, "unfinished", patient)
    stock, topk = both(model, sample)
    done = {max(len(hypothesis["tokens"]) for hypothesis in ranked) for ranked in stock}
    assert len(done) > 3
    equal(topk, stock)


@pytest.mark.parametrize(
    "begin", [{"bos_token": 17}, {"prefix_tokens": torch.full((20, 1), 17)}], ids=" ".join
)
def test_another_first_token_and_forced_prefixes(model, sample, begin):
    stock, topk = both(model, sample, **begin)
    equal(topk, stock)
    assert "bos_token" in begin or all(ranked[0]["tokens"][0] == 17 for ranked in topk)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(model, sample, dtype):
    """Searches differ only where logits are equal, which is rare with so few tokens."""
    stock, topk = map(readable, both(copy.deepcopy(model).to(dtype), sample))
    alike = [ours == theirs for ours, theirs in zip(topk, stock, strict=True)]
    assert sum(alike) >= len(alike) - 1


def test_single_precision_with_packed_weights(sample):
    single = random_model().float()
    stock, _ = both(single, sample)
    generation = SimpleNamespace(generation=GenerationConfig(), common=SimpleNamespace(bf16=False))
    single.prepare_for_inference_(generation)
    assert single.core.embeddings._product is not lean_product
    _, topk = both(single, sample)
    for ours, theirs in zip(readable(topk), readable(stock), strict=True):
        assert [tokens for tokens, _ in ours] == [tokens for tokens, _ in theirs]
        scores = [[score for _, score in ranked] for ranked in (ours, theirs)]
        assert scores[0] == pytest.approx(scores[1], rel=1e-4)
