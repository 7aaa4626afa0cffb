"""What a search did before an early stop is what it does without one."""

import itertools
import math
from types import SimpleNamespace

import pytest
from fairseq.sequence_generator import SequenceGenerator
from support.covering import one_in
from support.parity_cases import EOS
from support.searching import DICTIONARY, random_model, random_sample, readable

from tdo_plugin.evaluation.decoding.early_stop import ROOM, EarlyStop
from tdo_plugin.models.topk_beam_search import use_topk

LONGEST = 6  # source of the sample


@pytest.fixture(scope="module")
def model():
    """Some of its hypotheses end at once, some go on to the limit."""
    model = random_model()
    logits = model.core.logits

    def with_ends(features):
        scores = logits(features) * 0.3
        scores[..., EOS] += 2
        return scores

    model.core.logits = with_ends
    return model


@pytest.fixture(scope="module")
def sample():
    return random_sample()


def generator_for(model, **options):
    return SequenceGenerator([model], DICTIONARY, **{"beam_size": 3, "max_len_b": 60, **options})


@pytest.mark.parametrize(
    ("options", "wrap"),
    one_in(
        3,
        itertools.product(
            [{}, {"beam_size": 1}, {"min_len": 9}, {"len_penalty": 0.3}],
            [use_topk, lambda generator: generator],
        ),
        1,
    ),
)
def test_what_was_not_stopped_is_the_whole_searchs(model, sample, options, wrap):
    generator = wrap(generator_for(model, **options))
    limit = generator.max_len
    whole = readable(generator.generate([], sample))
    early = EarlyStop(generator, 1.5)
    hypotheses, stopped = early.search(LONGEST, lambda: generator.generate([], sample))
    assert generator.max_len == limit
    assert 0 < sum(stopped) < len(stopped)
    for ours, theirs, again in zip(readable(hypotheses), whole, stopped, strict=True):
        if not again:
            assert [tokens for tokens, _ in ours] == [tokens for tokens, _ in theirs]
            assert [score for _, score in ours] == pytest.approx([score for _, score in theirs])
    # of the hypotheses that go on for longer none was taken for whole
    longest = [max(len(tokens) for tokens, _ in ranked) for ranked in whole]
    last = max(int(1.5 * LONGEST) + ROOM, options.get("min_len", 0))
    assert [length > last for length in longest] == stopped


def test_where_the_limit_is_nearer_nothing_is_put_off(model, sample):
    generator = generator_for(model, max_len_b=8)
    whole = readable(generator.generate([], sample))
    assert any(len(tokens) == 9 for ranked in whole for tokens, _ in ranked)  # stopped by the limit
    for early in (EarlyStop(generator), EarlyStop.never(generator_for(model))):
        _, stopped = early.search(LONGEST, lambda: generator.generate([], sample))
        assert not any(stopped)


def test_where_many_are_put_off_the_next_stop_comes_later(model, sample):
    generator = generator_for(model)
    early = EarlyStop(generator, 0.1)

    def stopped():
        return sum(early.search(LONGEST, lambda: generator.generate([], sample))[1])

    counts = [stopped() for _ in range(8)]
    assert counts[0] > 5
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] <= 5
    assert math.isfinite(early._ratio)


def test_a_sentence_with_too_few_hypotheses_is_not_done():
    limits = {"max_len": 1000, "max_len_a": 0, "max_len_b": 200, "min_len": 1, "beam_size": 2}
    hypothesis = {"tokens": [7, 2]}
    results = [[hypothesis, hypothesis], [hypothesis], []]
    _, stopped = EarlyStop(SimpleNamespace(**limits)).search(5, lambda: results)
    assert stopped == [False, True, True]
