"""Searching among each row's likeliest tokens gives what searching the whole vocabulary gives."""

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.search import DiverseBeamSearch
from fairseq.sequence_generator import SequenceGenerator
from parity.cases import EOS, NUMBERS, PAD, TWO_STAGE

from tdo_plugin.models.narrow_search import BLOCKS, largest, narrow
from tdo_plugin.models.tdo_transformer import SourceStream, TargetStream, TdoTransformer
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec

DICTIONARY = Dictionary()
for _number in range(300):
    DICTIONARY.add_symbol(f"w{_number}")


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    vocabulary = len(DICTIONARY)
    spec = ModelSpec(**{**NUMBERS, **TWO_STAGE})
    core = Builder(spec, PAD).build(vocabulary, vocabulary).double()
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return TdoTransformer(SourceStream(DICTIONARY, core), TargetStream(DICTIONARY, core)).eval()


@pytest.fixture(scope="module")
def sample():
    torch.manual_seed(2)
    tokens = torch.full((20, 6), PAD)
    for row in range(len(tokens)):
        length = 2 + row % 5
        words = torch.randint(4, len(DICTIONARY), (length - 1,))
        tokens[row, 6 - length :] = torch.cat([words, torch.tensor([EOS])])
    return {"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(PAD).sum(1)}}


def hypotheses(generator, sample):
    return [
        [(one["tokens"].tolist(), float(one["score"])) for one in ranked]
        for ranked in generator.generate([], sample)
    ]


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
