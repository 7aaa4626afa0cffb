"""The term of source reconstruction in the criterion: what it adds, logs, asks for and refuses."""

import itertools
import logging
import math

import pytest
import torch
from fairseq import metrics
from support.covering import one_in
from support.criterion_models import BASE, EXACT, TERMS, TOPOLOGIES, WITHOUT_TAG, gradients
from support.data import TRAIN, built, databin, databin_two_dictionaries, iterate

from tdo_plugin.criterions.loss_terms import Update

TLM = ("--criterion", "label_smoothed_cross_entropy_tlm", "--label-smoothing", "0.1")


def made(*flags, topology="prefix", base=BASE):
    """(task, model, criterion, a mixed batch) in float64.

    Words are left out of the sources, which otherwise have as many as their targets.
    """
    task, model, criterion = built(*base, *TOPOLOGIES[topology], *flags)
    (batch, *_) = [sample for sample in iterate(task, "train") if len(sample["id"]) > 4]
    for row in batch["net_input"]["src_tokens"]:
        cut(row, task.source_dictionary.pad())
    return task, model.double().eval(), criterion, batch


def cut(row, pad, keep=3):
    """Leave of a source, padded on the left, its first token and the last of it."""
    words = row[row != pad]
    kept = torch.cat((words[:1], words[1:][1 - keep :]))
    row.fill_(pad)
    row[len(row) - len(kept) :] = kept


def predicted_by_hand(model, batch, kind, pad, smoothing=0.1, before=1, after=0):
    """Loss, likelihood and number of tokens, of each source alone and unpadded.

    So many tokens before and after what is predicted are tags.
    """
    first = max(before, kind == "lm")
    loss, nll, count = 0.0, 0.0, 0
    for row in batch["net_input"]["src_tokens"]:
        row = row[row != pad]
        last = model.core.spec.source_layers
        state = model.core.encode(row[None], (last,)).layer_outputs[last]
        log_probs = model.core.logits(model.core.stack.readout(state))[0].log_softmax(-1)
        for place in range(first, len(row) - after):
            scores = log_probs[place - (kind == "lm")]
            likelihood = scores[row[place]]
            share = smoothing / (len(scores) - 1)
            loss = loss - (1 - smoothing) * likelihood - share * (scores.sum() - likelihood)
            nll, count = nll - likelihood.item(), count + 1
    return loss, nll, count


def assert_adds(source, model, criterion, batch, times=1):
    """What the criterion adds to the target's loss, and what it logs; its loss."""
    source_loss, nll, count = source
    loss, size, logs = criterion(model, batch)
    torch.testing.assert_close(loss - logs["loss"], source_loss * times, **EXACT)
    assert float(logs["reconstruction_nll_loss"]) == pytest.approx(nll)
    assert int(logs["reconstruction_ntokens"]) == count
    assert float(logs["objective"]) == pytest.approx(loss.item())
    return loss, size


@pytest.mark.parametrize(
    ("topology", "kind", "normalization"),
    one_in(3, itertools.product(TOPOLOGIES, ["lm", "ae"], ["sum", "mean"])),
)
def test_the_sum_of_both_losses(topology, kind, normalization):
    flags = ("--reconstruction-task", kind, "--reconstruction-normalization", normalization)
    task, model, criterion, batch = made(
        *TLM, *flags, "--reconstruction-weight", "0.7", topology=topology
    )
    _, _, plain, _ = made(*TERMS, topology=topology)
    source = predicted_by_hand(model, batch, kind, task.source_dictionary.pad())
    target, size, _ = plain(model, batch)
    assert source[2] != size
    times = 0.7 * (size / source[2] if normalization == "mean" else 1)
    loss, tlm_size = assert_adds(source, model, criterion, batch, times)
    assert tlm_size == size
    expected = gradients(model, target + times * source[0])
    torch.testing.assert_close(gradients(model, loss), expected, **EXACT)


REPLACING = "--lang-tok-replacing-bos-eos"
LAYOUTS = {
    "x </s>": (WITHOUT_TAG, 0, "</s>"),
    "x </s>, <y> y </s>": ((*WITHOUT_TAG, "--decoder-langtok", REPLACING), 0, "</s>"),
    "x </s>, <y> y </s> behind a tag of the source": (
        (*BASE, "--langtoks", '{"main": (None, "tgt")}', REPLACING),
        0,
        "</s>",
    ),
    "x <y>": ((*BASE, REPLACING), 1, "__de__"),
}


@pytest.mark.parametrize("kind", ["lm", "ae"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_tag_in_front(layout, kind):
    """Auto-encoding predicts the first token too; before it nothing stands that could.

    The second layout is the paper's, and the third, behind its tables' configs; a tag in place of
    the source's end is not predicted.
    """
    base, after, end = LAYOUTS[layout]
    task, model, criterion, batch = made(*TLM, "--reconstruction-task", kind, base=base)
    dictionary = task.source_dictionary
    assert dictionary.index(end) in batch["net_input"]["src_tokens"][:, -1]
    source = predicted_by_hand(model, batch, kind, dictionary.pad(), before=0, after=after)
    assert_adds(source, model, criterion, batch)


@pytest.mark.parametrize("sentences", [False, True])
def test_means_are_of_sentences_with_a_source(sentences):
    """A source that is its tag has nothing to predict, and its target does not count."""
    flags = ("--reconstruction-normalization", "mean", *["--sentence-avg"] * sentences)
    task, model, criterion, batch = made(*TLM, *flags)
    pad, eos = task.source_dictionary.pad(), task.source_dictionary.eos()
    sources = batch["net_input"]["src_tokens"]
    for row in sources[:2]:
        (tag,) = row[row != pad][:1]
        row.fill_(pad)
        row[-1] = tag
    assert not sources[:2].eq(eos).any()
    source = predicted_by_hand(model, batch, "lm", pad)
    size = len(sources) - 2 if sentences else batch["target"][2:].ne(pad).sum()
    assert_adds(source, model, criterion, batch, float(size) / source[2])


def scored(term, model, batch):
    return term.request(model, batch).source_loss.keywords["target"]


@pytest.mark.parametrize("kind", ["lm", "ae"])
def test_the_mark_of_synthetic_sources_is_not_told(kind):
    """It is a tag: masked it has no logit at all."""
    flags = ("--reconstruction-task", kind, "--back-translated-tag", "<bt>")
    task, model, criterion, batch = made(*TLM, *flags, "--tdo-masked-tags", "1")
    mark = task.source_dictionary.index("<bt>")
    _, _, plain = criterion(model, batch)
    sources = batch["net_input"]["src_tokens"]
    pad = task.source_dictionary.pad()
    for row in sources:
        row[(row != pad).nonzero()[1]] = mark  # behind the tag
    tokens = scored(criterion.terms["reconstruction"], model, batch)
    assert not tokens.eq(mark).any()
    loss, _, logs = criterion(model, batch)
    assert loss.isfinite()
    assert plain["reconstruction_ntokens"] - logs["reconstruction_ntokens"] == len(sources)


def test_what_is_reported():
    _, model, criterion, batch = made(*TLM, "--reconstruction-weight", "0.25")
    logs = [criterion(model, batch)[2] for _ in range(2)]
    assert logs[0]["ntokens"] != logs[0]["reconstruction_ntokens"]
    with metrics.aggregate() as aggregated:
        criterion.reduce_metrics(logs)
    bits = logs[0]["reconstruction_nll_loss"] / logs[0]["reconstruction_ntokens"] / math.log(2)
    values = aggregated.get_smoothed_values()
    assert values["reconstruction_nll_loss"] == pytest.approx(float(bits), abs=1e-3)
    assert values["reconstruction_weight"] == pytest.approx(0.25)
    _, model, criterion, batch = made(*TLM, "--reconstruction-weight", "0.00025")
    with metrics.aggregate() as aggregated:
        criterion.reduce_metrics([criterion(model, batch)[2]])
    assert aggregated.get_smoothed_values()["reconstruction_weight"] == pytest.approx(0.00025)
    assert "reconstruction_ntokens" not in values


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_lambda_0_asks_for_nothing(topology, monkeypatch, caplog):
    """The source's last layer and the projection are skipped; all equals the plain criterion."""
    with caplog.at_level(logging.WARNING, "tdo_plugin"):
        _, model, criterion, batch = made(*TLM, "--reconstruction-weight", "0", topology=topology)
    assert "trivial" not in caplog.text
    _, _, plain, _ = made(*TERMS, topology=topology)
    assert criterion.terms["reconstruction"].request(model, batch).source_loss is None
    requests = []
    forward = model.core.forward
    monkeypatch.setattr(model.core, "forward", lambda *a: requests.append(a[0]) or forward(*a))
    loss, size, logs = criterion(model, batch)
    ((reading,),) = requests
    assert not reading.layer_outputs and not reading.token_states
    expected, expected_size, _ = plain(model, batch)
    assert (loss.item(), size) == (expected.item(), expected_size)
    assert float(logs["reconstruction_weight"]) == 0
    gradient, expected_gradient = gradients(model, loss), gradients(model, expected)
    assert all(torch.equal(gradient[name], expected_gradient[name]) for name in gradient)


def test_lambda_follows_the_updates():
    flags = ("--reconstruction-schedule", "exponential", "--reconstruction-tau", "10")
    _, model, criterion, batch = made(*TLM, *flags)

    def added(logs, loss):
        return float(loss.detach() - logs["loss"])

    loss, _, logs = criterion(model, batch)
    first = added(logs, loss)
    ratios = []
    for number in (0, 5, 10, 20):
        with criterion.in_update(lr=0.1, number=number):
            loss, _, logs = criterion(model, batch)
        ratios.append(added(logs, loss) / first)
        assert float(logs["reconstruction_weight"]) / len(batch["id"]) == pytest.approx(ratios[-1])
    assert ratios == pytest.approx([1, math.sqrt(0.1), 0.1, 0.01])
    # a validation counts as the last update
    loss, _, logs = criterion(model, batch)
    assert added(logs, loss) / first == pytest.approx(0.01)


def test_the_linear_schedule_ends_in_asking_for_nothing():
    flags = ("--reconstruction-schedule", "linear", "--reconstruction-tau", "4")
    _, model, criterion, batch = made(*TLM, *flags, "--max-update", "10")
    term = criterion.terms["reconstruction"]
    requested = [
        term.request(model, batch, Update(lr=0.1, number=number)).source_loss is not None
        for number in (0, 4, 9, 10, 11)
    ]
    assert requested == [True, True, True, False, False]


def test_the_undisturbed_source_is_predicted():
    _, model, criterion, batch = made(*TLM, "--source-noise", "bert", "--source-noise-rate", "0.5")
    task, *_ = made(*TLM, "--source-noise", "bert", "--source-noise-rate", "0.5")
    (noised,), _ = task.step_hooks[0].batches(batch, model, 0)
    clean = batch["net_input"]["src_tokens"]
    assert not torch.equal(noised["net_input"]["src_tokens"], clean)
    term = criterion.terms["reconstruction"]
    tokens = scored(term, model, noised)
    assert torch.equal(tokens, scored(term, model, batch))
    # unmasked positions are scored as well
    logs = [criterion(model, sample)[2] for sample in (noised, batch)]
    assert logs[0]["reconstruction_ntokens"] == logs[1]["reconstruction_ntokens"]
    assert logs[0]["reconstruction_nll_loss"] != logs[1]["reconstruction_nll_loss"]


def test_beside_other_terms():
    both = ("--loss-terms", "instrucl,reconstruction")
    _, model, criterion, batch = made(*TERMS, *both)
    single = [made(*TERMS, "--loss-terms", name)[2] for name in both[1].split(",")]
    plain = made(*TERMS)[2](model, batch)[0]
    parts = sum(single_term(model, batch)[0] - plain for single_term in single)
    torch.testing.assert_close(criterion(model, batch)[0], plain + parts, **EXACT)


@pytest.mark.parametrize(
    ("topology", "kind", "noise", "why"),
    [
        ("prefix", "lm", "none", "with --tdo-source-attention prefix each position sees the next"),
        ("prefix", "ae", "none", "each position sees the token that it predicts"),
        ("causal", "ae", "none", "each position sees the token that it predicts"),
        ("encoder-decoder", "ae", "none", "each position sees the token that it predicts"),
        ("causal", "lm", "none", None),
        ("prefix", "lm", "bert", None),
        ("causal", "ae", "bert", None),
    ],
)
def test_trivial_tasks_are_named(topology, kind, noise, why, caplog):
    flags = ("--reconstruction-task", kind, "--source-noise", noise)
    with caplog.at_level(logging.WARNING, "tdo_plugin"):
        made(*TLM, *flags, topology=topology)
    messages = [
        record.getMessage() for record in caplog.records if "trivial" in record.getMessage()
    ]
    assert len(messages) == (why is not None)
    assert why is None or why in messages[0]


STOCK_TASK = ("--task", "translation_multi_simple_epoch", *BASE[2:])


def test_the_stock_task_has_constant_weights():
    made(*TLM, base=STOCK_TASK)


def test_refused(refused):
    two = TRAIN[: TRAIN.index("--sampling-method")]
    refused.rows(
        """
        fairseq-train {data} {stock_task} {tlm}
            {prefix} --reconstruction-schedule exponential --reconstruction-tau 10  :: --task
            --arch transformer --encoder-layers 1 --decoder-layers 1                :: --arch
        fairseq-train {two} --task translation -s en -t de {prefix} {tlm} {train} \
            --tdo-share-embeddings decoder                         :: separate dictionaries
        """,
        data=databin(),
        stock_task=STOCK_TASK,
        two=databin_two_dictionaries(),
        train=two,
        prefix=TOPOLOGIES["prefix"],
        tlm=TLM,
    )
