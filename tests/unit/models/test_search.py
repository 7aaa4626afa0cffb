"""fairseq's own generator on our models, against plain beam search on the plain reference."""

import itertools
import math
from unittest import mock

import pytest
import torch
from fairseq.search import Sampling
from fairseq.sequence_generator import SequenceGenerator
from support.built_models import moved
from support.concatenating import DICTIONARY, two_stream
from support.covering import one_in
from support.parity_cases import (
    CACHES,
    CASES,
    EOS,
    PAD,
    STACKS,
    TWO_STAGE,
    VOCABULARY,
    build,
    languages_of,
    name_of,
)
from support.reference import Reference
from support.searching import assert_same, readable

from tdo_plugin.models.tdo_transformer import SourceStream, TargetStream

MAX_LENGTH = 5
LENGTHS = (5, 3, 1, 4)
SEARCHED = [case for number, case in enumerate(CASES) if number % 3 == 0 or number % 5 == 0]


def make(seed=1, dtype=torch.float64, **case):
    """A fairseq model with every parameter moved off its start."""
    return two_stream(moved(build(seed=seed, **case)).to(dtype))


def source():
    """Four sentences of different lengths, padded on the left."""
    torch.manual_seed(2)
    tokens = torch.full((4, 5), PAD)
    for row, length in enumerate(LENGTHS):
        words = torch.randint(4, VOCABULARY, (length - 1,))
        tokens[row, 5 - length :] = torch.cat([words, torch.tensor([EOS])])
    return tokens


def search(models, tokens, beam=3, max_length=MAX_LENGTH, strategy=None, **options):
    generator = SequenceGenerator(
        models, DICTIONARY, beam, max_len_b=max_length, search_strategy=strategy
    )
    languages = languages_of(tokens, models[0].core.spec.num_languages or 1)
    net_input = {
        "src_tokens": tokens,
        "src_lengths": tokens.ne(PAD).sum(1),
        "tgt_lang_id": languages[:, None] + 1,
    }
    return readable(generator.generate(models, {"net_input": net_input}, **options))


def reference_search(models, sentence, beam, prefix=()):
    """Beam search with fairseq's rules, all prefixes recomputed from their tokens at each step."""
    references = [Reference(model.core) for model in models]

    @torch.no_grad()
    def next_scores(beams):
        tokens = torch.tensor([words for words, _ in beams])
        repeated = sentence.expand(len(beams), -1)
        parts = [
            reference.forward(repeated, tokens)[0][:, -1].log_softmax(-1)
            for reference in references
        ]
        return (torch.stack(parts).logsumexp(0) - math.log(len(parts))).tolist()

    beams, finished = [([EOS], 0.0)], []
    for step in range(MAX_LENGTH + 1):
        candidates = []
        for (words, score), row in zip(beams, next_scores(beams), strict=True):
            for token, more in enumerate(row):
                if step < len(prefix):
                    allowed = token == prefix[step]
                elif step == MAX_LENGTH:
                    allowed = token == EOS
                else:
                    allowed = token != PAD and (token != EOS or step >= 1)
                if allowed:
                    candidates.append(([*words, token], score + more))
        candidates.sort(key=lambda candidate: -candidate[1])
        kept = []
        for rank, (words, score) in enumerate(candidates[: 2 * beam]):
            if words[-1] != EOS:
                kept.append((words, score))
            elif rank < beam and len(finished) < beam:
                finished.append((words[1:], score / (step + 1)))
        if len(finished) == beam:
            break
        beams = kept[:beam]
    return sorted(finished, key=lambda hypothesis: -hypothesis[1])


def references(models, beam=3):
    return [reference_search(models, row[row != PAD][None], beam) for row in source()]


@pytest.mark.parametrize(
    ("case", "beam"),
    [
        *one_in(3, [(case, 3) for case in SEARCHED], 1),
        *itertools.product(CACHES, (1, 2, 5)),
    ],
    ids=name_of,
)
def test_beam_search(case, beam):
    models = [make(**case)]
    assert_same(search(models, source(), beam), references(models, beam))


def test_hypotheses_end_at_different_steps():
    """Otherwise the tests above would never see a sentence leave the search."""
    searches = (search([make(**case)], source()) for case in SEARCHED[::4])
    lengths = {max(len(tokens) for tokens, _ in ranked) for found in searches for ranked in found}
    assert len(lengths) > 2


def test_ensemble_of_two_topologies():
    two = {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 1, "norm": "pre"}
    models = [make(**TWO_STAGE), make(seed=5, **two)]
    ours = search(models, source())
    assert_same(ours, references(models))
    assert ours != search(models[:1], source())


@pytest.mark.parametrize("case", STACKS, ids=name_of)
def test_prefix_tokens(case):
    models = [make(**case)]
    prefix = torch.tensor([[7, 9], [4, 4], [16, 5], [8, 12]])
    theirs = [
        reference_search(models, row[row != PAD][None], 3, start.tolist())
        for row, start in zip(source(), prefix, strict=True)
    ]
    ours = search(models, source(), prefix_tokens=prefix)
    assert [ranked[0][0][:2] for ranked in ours] == prefix.tolist()
    assert_same(ours, theirs)


@pytest.mark.parametrize("case", one_in(2, CASES[1::6], 1), ids=name_of)
def test_batch_composition_and_padding_do_not_matter(case):
    models, tokens = [make(**case)], source()
    together = search(models, tokens)
    assert_same(together, [search(models, row[row != PAD][None])[0] for row in tokens])
    order = torch.tensor([2, 0, 3, 1])
    assert_same(search(models, tokens[order]), [together[int(row)] for row in order])
    wider = torch.nn.functional.pad(tokens, (3, 0), value=PAD)
    right = torch.stack([torch.cat([row[row != PAD], row[row == PAD]]) for row in tokens])
    for padded in (wider, right):
        assert_same(search(models, padded), together)


def watched_search(model, beam):
    """(sentences, rows, addresses of the source's memory) of each step, and the source's passes."""
    steps, passes = [], []
    decode, encode = TargetStream.forward, SourceStream.forward

    def forward(stream, tokens, encoder_out, *args, **kwargs):
        place = [part.data_ptr() for memory in encoder_out.source_kv for part in memory]
        steps.append((encoder_out.sentences, len(tokens), place))
        assert all(memory.key.size(0) == encoder_out.sentences for memory in encoder_out.source_kv)
        return decode(stream, tokens, encoder_out, *args, **kwargs)

    def count(stream, *args, **kwargs):
        passes.append(stream)
        return encode(stream, *args, **kwargs)

    with (
        mock.patch.object(TargetStream, "forward", forward),
        mock.patch.object(SourceStream, "forward", count),
    ):
        search([model], source(), beam, max_length=12)
    return steps, passes


def test_source_is_computed_once_and_stored_once_for_its_beams():
    shrunk = 0
    for seed in range(12):
        steps, passes = watched_search(make(seed=seed, **TWO_STAGE), 2)
        assert len(passes) == 1
        sentences = [sentences for sentences, _, _ in steps]
        assert all(rows == 2 * count for count, rows, _ in steps)
        # finished sentences leave, and only then is the source's memory touched
        assert sentences == sorted(sentences, reverse=True)
        for before, after in itertools.pairwise(steps):
            assert (before[2] == after[2]) == (before[0] == after[0])
        shrunk += sentences[0] > sentences[-1]
    assert shrunk, "in no search a sentence ended before the others"


def test_only_new_positions_are_computed():
    model, fed = make(**TWO_STAGE), []
    original = model.core.stack.target

    def target(x, *args):
        fed.append(x.size(1))
        return original(x, *args)

    model.core.stack.target = target
    search([model], source())
    assert len(fed) > 2
    assert set(fed) == {1}


def test_sampling_follows_its_seed():
    models, tokens = [make(**TWO_STAGE)], source()

    def sample(seed, **options):
        torch.manual_seed(seed)
        return search(models, tokens, 2, strategy=Sampling(DICTIONARY, **options))

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)
    greedy = search(models, source(), 1)
    top = sample(3, sampling_topk=1)
    assert [hypotheses[0][0] for hypotheses in top] == [hypotheses[0][0] for hypotheses in greedy]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("case", STACKS, ids=name_of)
def test_half_precision(case, dtype):
    model, full = make(dtype=torch.float32, **case).to(dtype), make(dtype=torch.float32, **case)
    ranked = search([model], source())
    for row, hypotheses in zip(source(), ranked, strict=True):
        for tokens, score in hypotheses:
            previous = torch.tensor([[EOS, *tokens[:-1]]])
            with torch.no_grad():
                scores = full(row[None], None, previous)[0].log_softmax(-1)[0]
            expected = scores.gather(1, torch.tensor(tokens)[:, None]).mean()
            assert score == pytest.approx(float(expected), abs=0.1)
