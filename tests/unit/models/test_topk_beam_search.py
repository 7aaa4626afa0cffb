"""Searching among each row's likeliest tokens gives what searching the whole vocabulary gives."""

import copy
from types import SimpleNamespace

import pytest
import torch
from fairseq.dataclass.configs import GenerationConfig
from fairseq.search import DiverseBeamSearch
from fairseq.sequence_generator import SequenceGenerator
from support.parity_cases import MERGED, TWO_STAGE, name_of
from support.searching import DICTIONARY, random_model, random_sample, readable

from tdo_plugin.errors import UserError
from tdo_plugin.models import topk_beam_search
from tdo_plugin.models.topk_beam_search import BLOCKS, TopKGenerator, largest, use_topk
from tdo_plugin.modules.linear import lean_product


@pytest.fixture(scope="module", params=[TWO_STAGE, MERGED[0]], ids=name_of)
def model(request):
    return random_model(request.param)


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
        {"max_len_b": 9, "max_len": 5},
    ],
    ids=str,
)
def test_hypotheses_and_scores_are_the_whole_vocabularys(model, sample, options):
    options = {"beam_size": 4, "max_len_b": 9, **options}
    stock = hypotheses(SequenceGenerator([model], DICTIONARY, **options), sample)
    generator = use_topk(SequenceGenerator([model], DICTIONARY, **options))
    assert type(generator) is TopKGenerator
    for ours, theirs in zip(hypotheses(generator, sample), stock, strict=True):
        assert [tokens for tokens, _ in ours] == [tokens for tokens, _ in theirs]
        for (_, score), (_, expected) in zip(ours, theirs, strict=True):
            assert score == pytest.approx(expected, abs=1e-6)  # fairseq keeps scores in fp32
    assert len({str(ranked) for ranked in stock}) > 10


def test_logits_are_made_some_rows_at_a_time(model, sample, monkeypatch):
    whole = hypotheses(use_topk(SequenceGenerator([model], DICTIONARY, 4, max_len_b=9)), sample)
    monkeypatch.setattr("tdo_plugin.models.topk_beam_search.ROWS", 7)
    parts = hypotheses(use_topk(SequenceGenerator([model], DICTIONARY, 4, max_len_b=9)), sample)
    assert [[tokens for tokens, _ in ranked] for ranked in parts] == [
        [tokens for tokens, _ in ranked] for ranked in whole
    ]


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


def detailed(batch):
    """Everything of every hypothesis."""
    return [
        [
            (
                hypothesis["tokens"].tolist(),
                float(hypothesis["score"]),
                hypothesis["positional_scores"],
            )
            for hypothesis in ranked
        ]
        for ranked in batch
    ]


def equal(ours, theirs):
    for ranked, reference in zip(ours, theirs, strict=True):
        assert [tokens for tokens, *_ in ranked] == [tokens for tokens, *_ in reference]
        for (_, score, parts), (_, expected, expected_parts) in zip(ranked, reference, strict=True):
            assert score == pytest.approx(expected, abs=1e-6)
            torch.testing.assert_close(parts, expected_parts.to(parts), rtol=0, atol=1e-6)
            assert float(parts.sum()) == pytest.approx(score * len(parts), abs=1e-4)


@pytest.mark.parametrize("patience", [1, 3, 8])
def test_sentences_that_are_done_may_stay_for_a_while(sample, monkeypatch, patience):
    """As on a GPU, which is asked only now and then."""
    original = topk_beam_search.unfinished

    def patient(still, step):
        return original(still, step) if (step + 1) % patience == 0 else None

    model = random_model()
    source = model.core.encode(sample["net_input"]["src_tokens"])
    with torch.no_grad():  # the end symbol is made likelier, so that sentences end here and there
        usual = model.core.decode(torch.full((20, 1), DICTIONARY.eos()), source).mean((0, 1))
        model.core.embeddings.source.weight[DICTIONARY.eos()] += 0.32 * usual
    stock = SequenceGenerator([model], DICTIONARY, 4, max_len_b=12).generate([], sample)
    done = {max(len(hypothesis["tokens"]) for hypothesis in ranked) for ranked in stock}
    assert len(done) > 3
    monkeypatch.setattr(topk_beam_search, "unfinished", patient)
    topk = use_topk(SequenceGenerator([model], DICTIONARY, 4, max_len_b=12)).generate([], sample)
    equal(detailed(topk), detailed(stock))


def test_another_first_token(model, sample):
    pair = [SequenceGenerator([model], DICTIONARY, 4, max_len_b=9) for _ in range(2)]
    stock, topk = (
        generator.generate([], sample, bos_token=17) for generator in (pair[0], use_topk(pair[1]))
    )
    equal(detailed(topk), detailed(stock))


def test_forced_prefixes_are_searched_as_fairseq_does(model, sample):
    prefix = torch.full((20, 1), 17)
    pair = [SequenceGenerator([model], DICTIONARY, 4, max_len_b=9) for _ in range(2)]
    stock, topk = (
        generator.generate([], sample, prefix_tokens=prefix)
        for generator in (pair[0], use_topk(pair[1]))
    )
    assert readable(topk) == readable(stock)
    assert all(ranked[0]["tokens"][0] == 17 for ranked in topk)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(model, sample, dtype):
    """Searches differ only where logits are equal, which is rare with so few tokens."""
    half = copy.deepcopy(model).to(dtype)
    pair = [SequenceGenerator([half], DICTIONARY, 4, max_len_b=9) for _ in range(2)]
    stock, topk = (
        readable(generator.generate([], sample)) for generator in (pair[0], use_topk(pair[1]))
    )
    alike = [ours == theirs for ours, theirs in zip(topk, stock, strict=True)]
    assert sum(alike) >= len(alike) - 1


def test_single_precision_with_packed_weights(sample):
    """As fairseq-generate decodes: the weights in the order of oneDNN's kernels."""
    single = random_model().float()
    stock = SequenceGenerator([single], DICTIONARY, 4, max_len_b=9).generate([], sample)
    generation = SimpleNamespace(generation=GenerationConfig(), common=SimpleNamespace(bf16=False))
    single.prepare_for_inference_(generation)
    assert single.core.embeddings._product is not lean_product
    topk = use_topk(SequenceGenerator([single], DICTIONARY, 4, max_len_b=9)).generate([], sample)
    for ours, theirs in zip(detailed(topk), detailed(stock), strict=True):
        assert [tokens for tokens, *_ in ours] == [tokens for tokens, *_ in theirs]
        for (_, score, _), (_, expected, _) in zip(ours, theirs, strict=True):
            assert score == pytest.approx(expected, rel=1e-4)
