"""Greedy search gives the words of a generator's beam of one, each sentence's up to its limit."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.models import FairseqDecoder
from fairseq.models.transformer import TransformerConfig, TransformerModelBase
from fairseq.sequence_generator import SequenceGenerator
from support.parity_cases import EOS, LANGUAGE_AWARE, MERGED, PAD, TWO_STAGE, name_of
from support.searching import DICTIONARY, random_model, random_sample, readable

from tdo_plugin.models import greedy_search as module
from tdo_plugin.models.greedy_search import greedy_search, is_possible

ENCODER_DECODER = {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 2}
MOST = 9
LIMITS = [1 + row % MOST for row in range(20)]


def ending_model(case):
    """A random model that makes an end as likely as is good for a test."""
    varied = {"share_embeddings": "none", "position_embedding": "learned", "norm": "pre"}
    model = random_model({**case, **varied})
    with torch.no_grad():
        model.core.embeddings.output_weight[EOS] *= 4
    return model


@pytest.fixture(scope="module", params=[TWO_STAGE, ENCODER_DECODER, MERGED[0]], ids=name_of)
def model(request):
    return ending_model(request.param)


@pytest.fixture(scope="module")
def fed():
    return random_sample()["net_input"]


@pytest.fixture(scope="module")
def begin(fed):
    return torch.full((len(fed["src_tokens"]), 1), EOS)


def by_generator(model, fed, tags=None):
    """Tag, where there is one, and words without the end, ``MOST`` together; at least a word."""
    least = 1 + (tags is not None)
    generator = SequenceGenerator([model], DICTIONARY, 1, max_len_b=MOST, min_len=least)
    generated = generator.generate([], {"net_input": fed}, prefix_tokens=tags)
    return [ranked[0][0][:-1] for ranked in readable(generated)]


def test_words_are_the_generators(model, fed, begin):
    hypotheses = greedy_search(model, fed, begin, [MOST] * len(begin))
    assert hypotheses == by_generator(model, fed)
    lengths = {len(words) for words in hypotheses}
    assert MOST in lengths and len(lengths) > 2, "some end early, some go to the limit"


def test_each_sentence_has_its_own_limit(model, fed, begin):
    whole = greedy_search(model, fed, begin, [MOST] * len(begin))
    assert greedy_search(model, fed, begin, LIMITS) == [
        words[:limit] for words, limit in zip(whole, LIMITS, strict=True)
    ]


@pytest.mark.parametrize("limits", [LIMITS, [MOST] * len(LIMITS)], ids=["of each", "of all"])
@pytest.mark.parametrize("crowd", [0, 7 / 8, 1])
@pytest.mark.parametrize("patience", [1, 3])
def test_when_sentences_are_left_out_changes_nothing(
    model, fed, begin, monkeypatch, crowd, patience, limits
):
    """Never, some at once or each as soon as it is done; on a GPU, which is asked now and then."""
    hypotheses = greedy_search(model, fed, begin, limits)
    original, rows = module.unfinished, []

    def patient(still, step, most):
        rows.append(len(still))
        return original(still, step, most) if (step + 1) % patience == 0 else None

    monkeypatch.setattr(module, "CROWD", crowd)
    monkeypatch.setattr(module, "unfinished", patient)
    assert greedy_search(model, fed, begin, limits) == hypotheses
    left_out = len(set(rows)) > 1
    assert left_out == (crowd > 0)
    needed = sum(min(len(words) + 1, most) for words, most in zip(hypotheses, limits, strict=True))
    assert needed <= sum(rows) and (sum(rows) < len(begin) * MOST) == (crowd > 0)


def test_targets_begin_with_tags(model, fed, begin):
    tags = torch.arange(10, 10 + len(begin))[:, None]
    hypotheses = greedy_search(model, fed, torch.cat([begin, tags], 1), [MOST - 1] * len(begin))
    forced = by_generator(model, fed, tags)
    assert [[int(tag), *words] for tag, words in zip(tags, hypotheses, strict=True)] == forced
    assert hypotheses != greedy_search(model, fed, begin, [MOST - 1] * len(begin))


def test_no_end_before_so_many_words(model, fed, begin):
    free = greedy_search(model, fed, begin, [MOST] * len(begin))
    assert min(map(len, free)) < 5
    assert min(map(len, greedy_search(model, fed, begin, [MOST] * len(begin), least=5))) >= 5


def test_the_first_word_is_no_end_and_no_padding(model, fed, begin):
    scores = torch.zeros(len(DICTIONARY), dtype=torch.double)
    scores[[PAD, EOS]] = 1e9

    class Ending(torch.nn.Module):
        dictionary = DICTIONARY

        def forward(self, tokens, **state):
            return tokens[..., None], {}

        def output_layer(self, features):
            return scores.repeat(len(features), 1)

    ending = type("", (), {"encoder": model.encoder, "decoder": Ending()})
    hypotheses = greedy_search(ending, fed, begin, [1] * len(begin))
    assert hypotheses == [[0]] * len(begin)


def test_languages_stay_with_their_sentences(fed):
    case = next(setting for setting in LANGUAGE_AWARE if setting["topology"] == "decoder-only")
    model = ending_model(case)
    languages = torch.arange(len(fed["src_tokens"]))[:, None] % case["num_languages"] + 1
    inputs = {**fed, "tgt_lang_id": languages}
    begin = torch.full((len(languages), 1), EOS)
    hypotheses = greedy_search(model, inputs, begin, [MOST] * len(begin))
    assert hypotheses == by_generator(model, inputs)
    assert len({len(words) for words in hypotheses}) > 1


def test_scores_that_are_no_numbers_end_at_the_limit(fed, begin):
    model = random_model(TWO_STAGE)
    with torch.no_grad():
        model.core.embeddings.source.weight.fill_(torch.nan)
    hypotheses = greedy_search(model, fed, begin, [3] * len(begin))
    assert hypotheses == [[0] * 3] * len(begin), "a special symbol, which is no word"


def stock_model(**changes):
    config = TransformerConfig()
    config.encoder.layers = config.decoder.layers = 1
    for side in (config.encoder, config.decoder):
        side.embed_dim, side.ffn_embed_dim, side.attention_heads = 16, 16, 2
    config.decoder.input_dim = config.decoder.output_dim = 16
    config.share_decoder_input_output_embed = True
    config.max_source_positions = config.max_target_positions = 32
    for name, value in changes.items():
        setattr(config, name, value)
    task = SimpleNamespace(source_dictionary=DICTIONARY, target_dictionary=DICTIONARY)
    torch.manual_seed(1)
    return TransformerModelBase.build_model(config, task).double().eval()


def test_fairseqs_own_models_too(fed, begin):
    stock = stock_model()
    assert is_possible(stock)
    inputs = {name: fed[name] for name in ("src_tokens", "src_lengths")}
    tags = torch.arange(10, 10 + len(begin))[:, None]
    limits = [min(limit, MOST - 1) for limit in LIMITS]
    hypotheses = greedy_search(stock, inputs, torch.cat([begin, tags], 1), limits)
    forced = by_generator(stock, inputs, tags)
    assert len({str(words[1:]) for words in forced}) > 5
    assert [[int(tag), *words] for tag, words in zip(tags, hypotheses, strict=True)] == [
        words[: 1 + limit] for words, limit in zip(forced, limits, strict=True)
    ]


def test_not_where_the_output_is_no_plain_softmax(model):
    assert is_possible(model)
    assert not is_possible(stock_model(adaptive_softmax_cutoff=[50, 100]))
    other_model = random_model(TWO_STAGE)
    other_model.decoder.__class__ = type("Other", (FairseqDecoder,), {})
    assert not is_possible(other_model)
