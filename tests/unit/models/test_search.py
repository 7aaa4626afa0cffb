"""fairseq's own generator on our models, against plain beam search on the plain reference."""

import itertools
import math
from unittest import mock

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.search import Sampling
from fairseq.sequence_generator import SequenceGenerator
from support.built_models import moved
from support.languages import languages_of
from support.parity_cases import (
    CASES,
    DECODER_ONLY,
    ENCODER_DECODER,
    EOS,
    MERGED,
    NUMBERS,
    PAD,
    TWO_STAGE,
    VOCABULARY,
    name_of,
)
from support.reference import Reference

from tdo_plugin.models.tdo_transformer import SourceStream, TargetStream, TdoTransformer
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec

MAX_LENGTH = 5
LENGTHS = (5, 3, 1, 4)
SEARCHED = [case for number, case in enumerate(CASES) if number % 3 == 0 or number % 5 == 0]
SOME = [{**TWO_STAGE, "norm": "post"}, ENCODER_DECODER[0], MERGED[0]]
DICTIONARY = Dictionary()
for _number in range(VOCABULARY - len(DICTIONARY)):
    DICTIONARY.add_symbol(f"w{_number}")


def make(seed=1, dtype=torch.float64, **case):
    """A fairseq model with every parameter moved off its start."""
    torch.manual_seed(seed)
    core = Builder(ModelSpec(**{**NUMBERS, **case}), PAD).build(VOCABULARY, VOCABULARY).to(dtype)
    moved(core)
    return TdoTransformer(SourceStream(DICTIONARY, core), TargetStream(DICTIONARY, core)).eval()


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
    return generator.generate(models, {"net_input": net_input}, **options)


def plain(batch):
    return [
        [(hypothesis["tokens"].tolist(), float(hypothesis["score"])) for hypothesis in hypotheses]
        for hypotheses in batch
    ]


def assert_equal(ours, theirs):
    for hypotheses, expected in zip(ours, theirs, strict=True):
        assert [tokens for tokens, _ in hypotheses] == [tokens for tokens, _ in expected]
        # fairseq sums scores in single precision
        assert [s for _, s in hypotheses] == pytest.approx([s for _, s in expected], abs=1e-5)


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


@pytest.mark.parametrize("case", SEARCHED, ids=name_of)
def test_beam_search(case):
    models = [make(**case)]
    tokens = source()
    ours = plain(search(models, tokens))
    theirs = [reference_search(models, row[row != PAD][None], 3) for row in tokens]
    assert_equal(ours, theirs)


def test_hypotheses_end_at_different_steps():
    """Otherwise the tests above would never see a sentence leave the search."""
    steps = set()
    for case in SEARCHED[::4]:
        for hypotheses in plain(search([make(**case)], source())):
            steps.add(max(len(tokens) for tokens, _ in hypotheses))
    assert len(steps) > 2


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("case", [TWO_STAGE, MERGED[0]], ids=name_of)
def test_other_beams(case, beam):
    models = [make(**case)]
    theirs = [reference_search(models, row[row != PAD][None], beam) for row in source()]
    assert_equal(plain(search(models, source(), beam)), theirs)


def test_ensemble_of_two_topologies():
    two = {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 1, "norm": "pre"}
    models = [make(**TWO_STAGE), make(seed=5, **two)]
    theirs = [reference_search(models, row[row != PAD][None], 3) for row in source()]
    ours = plain(search(models, source()))
    assert_equal(ours, theirs)
    assert ours != plain(search(models[:1], source()))


@pytest.mark.parametrize("case", [DECODER_ONLY[0], *SOME], ids=name_of)
def test_prefix_tokens(case):
    models = [make(**case)]
    prefix = torch.tensor([[7, 9], [4, 4], [16, 5], [8, 12]])
    theirs = [
        reference_search(models, row[row != PAD][None], 3, start.tolist())
        for row, start in zip(source(), prefix, strict=True)
    ]
    ours = plain(search(models, source(), prefix_tokens=prefix))
    assert all(h[0][0][:2] == start for h, start in zip(ours, prefix.tolist(), strict=True))
    assert_equal(ours, theirs)


@pytest.mark.parametrize("case", CASES[1::6], ids=name_of)
def test_batch_composition_and_padding_do_not_matter(case):
    models, tokens = [make(**case)], source()
    together = plain(search(models, tokens))
    alone = [plain(search(models, row[row != PAD][None]))[0] for row in tokens]
    assert_equal(together, alone)
    order = torch.tensor([2, 0, 3, 1])
    assert_equal(plain(search(models, tokens[order])), [together[int(row)] for row in order])
    wider = torch.nn.functional.pad(tokens, (3, 0), value=PAD)
    assert_equal(plain(search(models, wider)), together)
    right = torch.full_like(tokens, PAD)
    for row, length in enumerate(LENGTHS):
        right[row, :length] = tokens[row, 5 - length :]
    assert_equal(plain(search(models, right)), together)


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
        return plain(search(models, tokens, 2, strategy=Sampling(DICTIONARY, **options)))

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)
    greedy = plain(search(models, source(), 1))
    top = sample(3, sampling_topk=1)
    assert [hypotheses[0][0] for hypotheses in top] == [hypotheses[0][0] for hypotheses in greedy]


def test_longer_than_the_first_cache_buffer():
    model = make(position_embedding="learned", **TWO_STAGE)
    with torch.no_grad():  # never ends by itself
        model.core.embeddings.output_weight[EOS] = 0
    (hypotheses,) = search([model], source()[:1], 2, max_length=70)
    tokens = hypotheses[0]["tokens"]
    assert len(tokens) == 71
    with torch.no_grad():
        previous = torch.cat([torch.tensor([EOS]), tokens[:-1]])[None]
        scores = model(source()[:1], None, previous)[0].log_softmax(-1)
    expected = scores[0].gather(1, tokens[:, None])[:, 0]
    torch.testing.assert_close(
        hypotheses[0]["positional_scores"].double(), expected, rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("case", SOME, ids=name_of)
def test_half_precision(case, dtype):
    model, full = make(dtype=torch.float32, **case).to(dtype), make(dtype=torch.float32, **case)
    ranked = search([model], source())
    for row, hypotheses in zip(source(), ranked, strict=True):
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"]
            previous = torch.cat([torch.tensor([EOS]), tokens[:-1]])[None]
            with torch.no_grad():
                scores = full(row[None], None, previous)[0].log_softmax(-1)[0]
            expected = scores.gather(1, tokens[:, None]).mean()
            assert float(hypothesis["score"]) == pytest.approx(float(expected), abs=0.1)
