"""A forced tag that counts nothing: every hypothesis' score is that of the tokens behind it."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.dataclass.configs import GenerationConfig
from fairseq.search import Sampling
from fairseq.sequence_generator import SequenceGenerator
from support.parity_cases import EOS, MERGED, PAD, STACKS, name_of
from support.searching import DICTIONARY, end_sooner, random_model, random_sample, readable

from tdo_plugin.evaluation.decoding.early_stop import EarlyStop
from tdo_plugin.models.forced_tag import FreeTagGenerator, check_free_tag, forces_tag, free_tag
from tdo_plugin.models.topk_beam_search import use_topk

TAG = 17


def generator(models, **options):
    stock = SequenceGenerator(models, DICTIONARY, **{"beam_size": 4, "max_len_b": 9} | options)
    free_generator = use_topk(free_tag(use_topk(stock)))
    assert type(free_generator) is FreeTagGenerator
    return free_generator


def searched(generator, tag=TAG):
    prefix = torch.full((20, 1), tag)
    return generator.generate([], random_sample(), prefix_tokens=prefix)


def log_probs(models, row, tokens):
    """Of each token of a target, by a forward pass over all of it; several models mix theirs."""
    before = torch.tensor([[EOS, *tokens[:-1]]])
    source = random_sample()["net_input"]["src_tokens"][row : row + 1]
    with torch.no_grad():
        each = [
            model.get_normalized_probs(model(source, prev_output_tokens=before), log_probs=True)
            for model in models
        ]
    mixed = torch.stack([probs[0].double().exp() for probs in each]).mean(0).log()
    return mixed.gather(1, torch.tensor(tokens)[:, None])[:, 0]


def check(batch, models, close=1e-5):
    """Hypotheses have the scores of the model, but for the tag."""
    charged = []
    for ranked in batch:
        assert all(float(hypothesis["positional_scores"][0]) == 0 for hypothesis in ranked)
        scores = [float(hypothesis["score"]) for hypothesis in ranked]
        assert scores == sorted(scores, reverse=True)
    for row in range(0, 20, 5):
        for hypothesis in batch[row]:
            tokens, parts = hypothesis["tokens"].tolist(), hypothesis["positional_scores"].double()
            expected = log_probs(models, row, tokens)
            charged.append(float(expected[0]))
            expected[0] = 0
            assert tokens[0] == TAG
            torch.testing.assert_close(parts, expected, rtol=0, atol=close)
            mean = float(expected.sum()) / len(tokens)
            assert float(hypothesis["score"]) == pytest.approx(mean, abs=close)
    assert max(charged) < -0.5


@pytest.mark.parametrize("case", STACKS, ids=name_of)
@pytest.mark.parametrize("beam", [1, 4])
def test_all_but_the_tag_counts(case, beam):
    model = random_model(case)
    check(searched(generator([model], beam_size=beam)), [model])


def test_models_of_an_ensemble_agree_on_it():
    models = [random_model(), random_model(MERGED[0])]
    check(searched(generator(models)), models)


def test_draws_are_the_same_ones():
    model, batches = random_model(), []
    for kind in (FreeTagGenerator, SequenceGenerator):
        torch.manual_seed(3)
        sampling = Sampling(DICTIONARY, sampling_topk=5)
        drawn = kind([model], DICTIONARY, 3, max_len_b=9, search_strategy=sampling)
        batches.append(searched(drawn))
    check(batches[0], [model])
    free, usual = (
        [{str(hypothesis["tokens"]) for hypothesis in each} for each in batch] for batch in batches
    )
    assert free == usual


def test_packed_weights_in_single_precision():
    single, packed = random_model().float(), random_model().float()
    packed.prepare_for_inference_(
        SimpleNamespace(generation=GenerationConfig(), common=SimpleNamespace(bf16=False))
    )
    check(searched(generator([packed])), [single], 1e-3)


def test_half_precision():
    batch = searched(generator([random_model().to(torch.bfloat16)]))
    assert all(float(each["positional_scores"][0]) == 0 for ranked in batch for each in ranked)


def test_a_search_that_was_stopped_early_is_none_that_counts():
    """What was not put off is what it would have been without the stop."""
    whole = readable(searched(generator([random_model()], max_len_b=30)))
    stopped = generator([random_model()], max_len_b=30)
    batch, late = EarlyStop(stopped, 0.5).search(6, lambda: searched(stopped))
    kept = [n for n, again in enumerate(late) if not again]
    assert [readable(batch)[n] for n in kept] == [whole[n] for n in kept]


def test_only_the_first_of_several_forced_tokens_is_free():
    model = random_model()
    prefix = torch.tensor([[TAG, 9]]).repeat(20, 1)
    batch = generator([model]).generate([], random_sample(), prefix_tokens=prefix)
    assert all(ranked[0]["tokens"].tolist()[:2] == [TAG, 9] for ranked in batch)
    check(batch, [model])


def test_where_nothing_is_forced_the_scores_are_fairseqs():
    """Padding among forced tokens stands for a sentence that has none."""
    model = random_model()
    stock = SequenceGenerator([model], DICTIONARY, 4, max_len_b=9)
    assert readable(searched(generator([model]), PAD)) == readable(searched(stock, PAD))


def test_hypotheses_are_ranked_without_it():
    """The order of hypotheses of different lengths depends on what the length divides."""
    model = random_model()
    end_sooner(model)
    stock = SequenceGenerator([model], DICTIONARY, 4, max_len_b=9)
    batches = (readable(searched(kind)) for kind in (generator([model]), stock))
    free, usual = ([ranked[0][0] for ranked in batch] for batch in batches)
    assert free != usual


def test_it_is_for_tags_that_are_forced(refused):
    for tag, replacing in (("tgt", False), (None, False), ("tgt", True)):
        forced = tag is not None and not replacing
        args = SimpleNamespace(langtoks={"main": ("tgt", tag)})
        args.lang_tok_replacing_bos_eos = replacing
        task = SimpleNamespace(args=args)
        assert forces_tag(task) == forced
        if forced:
            check_free_tag(task)
            continue
        with refused.raised("a tag that is not forced", names="--free-tag"):
            check_free_tag(task)
