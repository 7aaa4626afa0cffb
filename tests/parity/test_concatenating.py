"""The baseline that benchmarks run against gives the package's numbers (float64, 1e-9)."""

import itertools

import pytest
import torch
from fairseq.search import BeamSearch
from fairseq.sequence_generator import SequenceGenerator
from support.concatenating import DICTIONARY, concatenating, criterion, sample, two_stream
from support.covering import one_in
from support.parity_cases import CASES, EOS, EXACT, PAD, gradients, name_of
from support.searching import assert_same, readable

REFUSED = {"num_languages", "cut_residual", "tpdm_layer"}
JOINT = [
    case
    for case in CASES
    if case["topology"] == "decoder-only"
    and not REFUSED & case.keys()
    and case.get("position_embedding") != "rotary"
]
SHARED = [case for case in JOINT if case.get("share_embeddings", "all") == "all"]
TAGS = (5, 5, 6, 7)
LOGGED = {"loss", "nll_loss", "ntokens", "nsentences", "sample_size"}
PAPER = {"instrucl_scale": "sum", "instrucl_weighting": "none"}
AUTHORS = {"instrucl_scale": "per-token", "instrucl_weighting": "tag-share"}
FOUR = {"topology": "decoder-only", "num_layers": 4, "target_layer": 2, "adaptation_dim": 6}


@pytest.fixture(params=["source left, target right", "source right, target left"])
def padded(request, batch):
    """A batch with two equal tags, padded on either side."""
    source, previous, target = (tensor.clone() for tensor in batch)
    source[torch.arange(4), source.ne(PAD).int().argmax(1)] = torch.tensor(TAGS)
    if request.param == "source right, target left":
        source, previous, target = map(other_side, (source, previous, target))
    return source, previous, target


def other_side(rows):
    """The same rows, padded on the other side."""
    left = rows[:, :1].eq(PAD).any()
    moved = [(row[row != PAD], row[row == PAD]) for row in rows]
    return torch.stack([torch.cat(parts if left else parts[::-1]) for parts in moved])


def assert_same_objective(model, batch, name="terms", **options):
    """Of the model's criterion and of its baseline's."""
    batch, more = sample(batch), {"plain_instrucl": True} if name == "instrucl" else {}
    loss, size, logs = criterion(f"label_smoothed_cross_entropy_{name}", **options)(model, batch)
    theirs = criterion("plain_cross_entropy", **more, **options)
    plain, plain_size, plain_logs = theirs(concatenating(model), batch)
    torch.testing.assert_close(plain, loss, **EXACT)
    assert plain_size == size
    assert plain_logs.keys() >= LOGGED
    for key, value in plain_logs.items():
        assert float(value) == pytest.approx(float(logs[key]), abs=1e-9), key
    pair = (gradients(objective, model) for objective in (plain, loss))
    torch.testing.assert_close(*pair, **EXACT)
    return logs


@pytest.mark.parametrize("case", one_in(3, JOINT), ids=name_of)
def test_logits(case, make_model, padded):
    model = two_stream(make_model(**case))
    source, previous, _ = padded
    logits, _ = model(source, prev_output_tokens=previous)
    plain, _ = concatenating(model)(source, prev_output_tokens=previous)
    real = previous.ne(PAD)
    assert plain.shape == logits.shape
    torch.testing.assert_close(plain[real], logits[real], **EXACT)


@pytest.mark.parametrize("case", one_in(3, JOINT, 1), ids=name_of)
def test_cross_entropy(case, make_model, padded):
    assert_same_objective(two_stream(make_model(**case)), padded)


@pytest.mark.parametrize("option", ["sentence_avg", "ignore_prefix_size", "report_accuracy"])
def test_options_of_fairseq(option, make_model, batch):
    assert_same_objective(two_stream(make_model(**JOINT[-1])), batch, **{option: 1})


@pytest.mark.parametrize("options", [PAPER, AUTHORS], ids=["paper", "authors"])
@pytest.mark.parametrize("case", one_in(3, SHARED, 2), ids=name_of)
def test_instrucl(case, options, make_model, padded):
    model = two_stream(make_model(**case))
    logs = assert_same_objective(model, padded, "instrucl", **options)
    assert float(logs["objective"]) > float(logs["loss"])


@pytest.mark.parametrize("layer", [1, 2, 3, 4])
def test_instrucl_at_every_layer(layer, make_model, batch):
    options = {"instrucl_layer": layer, "instrucl_temperature": 0.1, "instrucl_weight": 0.3}
    options |= {**(PAPER if layer % 2 else AUTHORS), "report_accuracy": True}
    assert_same_objective(two_stream(make_model(**FOUR)), batch, "instrucl", **options)


class EndsEarly(BeamSearch):
    """Beam search where sentences end at different steps, as those of a trained model do."""

    def step(self, step, lprobs, *more):
        lprobs[:, :, EOS] += 2
        return super().step(step, lprobs, *more)


def found(model, source, beam):
    generator = SequenceGenerator(
        [model], DICTIONARY, beam, max_len_b=8, search_strategy=EndsEarly(DICTIONARY)
    )
    lengths = source.ne(PAD).sum(1)
    return readable(
        generator.generate([model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
    )


@pytest.mark.parametrize(
    ("case", "beam"), one_in(4, itertools.product(JOINT, [1, 2, 4])), ids=name_of
)
def test_search(case, beam, make_model, batch):
    model = two_stream(make_model(**case))
    assert_same(found(model, batch[0], beam), found(concatenating(model), batch[0], beam))


def test_sentences_leave_these_searches_at_different_steps(make_model, batch):
    ranked = found(two_stream(make_model(**JOINT[0])), batch[0], beam=4)
    assert len({max(len(tokens) for tokens, _ in hypotheses) for hypotheses in ranked}) > 1


def test_a_search_gives_each_beam_its_source_and_keeps_what_was_computed(make_model, batch):
    case = {"topology": "decoder-only", "num_layers": 4, "target_layer": 1, "norm": "pre"}
    model = concatenating(two_stream(make_model(**case)))
    source, previous, _ = batch
    rows = torch.arange(len(source)).repeat_interleave(3)
    encoded = model.encoder.reorder_encoder_out(model.encoder(source), rows)
    assert encoded.x.shape[:2] == (12, 5)
    lengths = []
    original = torch.nn.functional.scaled_dot_product_attention

    def attention(query, key, value, **options):
        lengths.append((query.size(2), key.size(2)))
        return original(query, key, value, **options)

    state, pieces = {}, []
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "scaled_dot_product_attention", attention)
        for length in (1, 2, 4):
            tokens = previous[rows, :length]
            pieces.append(model.decoder(tokens, encoded, incremental_state=state)[0])
    # three joint layers: the source with the first symbol, then what is new alone
    assert lengths == [(6, 6)] * 3 + [(1, 7)] * 3 + [(2, 9)] * 3
    whole, _ = model.decoder(previous[rows, :4], encoded)
    real = previous[rows, :4].ne(PAD)
    torch.testing.assert_close(torch.cat(pieces, 1)[real], whole[real], **EXACT)
