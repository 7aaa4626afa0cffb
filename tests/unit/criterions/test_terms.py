"""The criterion: fairseq's own loss where no term is on, and what is logged of terms."""

import math

import pytest
import torch
from fairseq import metrics
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from support.criterion_models import BASE, EXACT, TERMS, TOPOLOGIES, gradients, model_and_batches
from support.data import INSTRUCL, built, databin, iterate

from tdo_plugin.errors import UserError

STOCK = (
    *("--arch", "transformer", "--encoder-layers", "1", "--decoder-layers", "1"),
    *("--encoder-embed-dim", "8", "--encoder-attention-heads", "2", "--share-all-embeddings"),
)
STOCK_TASK = ("--task", "translation_multi_simple_epoch", *BASE[2:])

# --- without terms ---------------------------------------------------------------------------


@pytest.mark.parametrize("double", [True, False], ids=["float64", "float32"])
@pytest.mark.parametrize(
    "flags",
    [(), ("--sentence-avg",), ("--ignore-prefix-size", "2"), ("--report-accuracy",)],
    ids=lambda flags: " ".join(flags) or "plain",
)
def test_equals_fairseq(flags, double):
    task, model, ours, (batch,) = model_and_batches(*TERMS, *flags, double=double)
    stock = LabelSmoothedCrossEntropyCriterion(
        task, ours.sentence_avg, ours.eps, ours.ignore_prefix_size, ours.report_accuracy
    )
    assert flags == () or ours.sentence_avg or ours.ignore_prefix_size or ours.report_accuracy
    tolerance = EXACT if double else {"rtol": 1e-5, "atol": 1e-5}
    loss, size, logs = ours(model, batch)
    our_gradients = gradients(model, loss)
    expected, expected_size, expected_logs = stock(model, batch)
    assert size == expected_size
    torch.testing.assert_close(loss, expected, **tolerance)
    torch.testing.assert_close(our_gradients, gradients(model, expected), **tolerance)
    for key, value in expected_logs.items():
        assert float(logs[key]) == pytest.approx(float(value), rel=1e-5), key
    assert set(logs) - set(expected_logs) == {"objective"}
    assert float(logs["objective"]) == float(logs["loss"])


@pytest.mark.parametrize("instrucl", [(), ("--loss-terms", "instrucl")], ids=["plain", "instrucl"])
@pytest.mark.parametrize("prefix", ["0", "2"])
def test_fused_equals_whole(instrucl, prefix):
    results = []
    for kind in ("fused", "whole"):
        flags = ("--cross-entropy", kind, "--ignore-prefix-size", prefix, *instrucl)
        _, model, criterion, (batch,) = model_and_batches(*TERMS, *flags)
        calls = []
        logits = model.core.logits
        model.core.logits = lambda *args, to=calls, call=logits: to.append(True) or call(*args)
        loss, size, logs = criterion(model, batch)
        assert bool(calls) == (kind == "whole")
        results.append((loss, size, logs, gradients(model, loss)))
    (loss, size, logs, ours), (expected, expected_size, expected_logs, theirs) = results
    torch.testing.assert_close((loss, ours), (expected, theirs), **EXACT)
    assert size == expected_size and logs.keys() == expected_logs.keys()
    for key in logs:
        assert float(logs[key]) == pytest.approx(float(expected_logs[key]), abs=1e-9), key


def test_mixed_precision_region():
    """As `--amp` computes: half precision inside, the objective and the gradients in single."""
    results = []
    for kind in ("fused", "whole"):
        _, model, criterion, (batch,) = model_and_batches(
            *INSTRUCL, "--cross-entropy", kind, double=False
        )
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss, _, _ = criterion(model, batch)
        assert loss.dtype == torch.float32
        results.append((loss, gradients(model, loss)))
    (loss, ours), (expected, theirs) = results
    torch.testing.assert_close(loss, expected, rtol=1e-2, atol=0)
    for name in ours:
        assert ours[name].dtype == torch.float32
        assert (ours[name] - theirs[name]).norm() <= 0.05 * theirs[name].norm() + 1e-3


def test_unreduced():
    _, model, criterion, (batch,) = model_and_batches(*TERMS)
    net_output = model(**batch["net_input"])
    loss, nll = criterion.compute_loss(model, net_output, batch, reduce=False)
    assert loss.shape == nll.shape == (batch["target"].numel(),)
    total, _ = criterion.compute_loss(model, net_output, batch)
    torch.testing.assert_close(loss.sum(), total)


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} {base} {tdo} {terms}
            --loss-terms instrucl,spam                      :: spam
            --loss-terms instrucl --tpdm-temperature -3     :: --tpdm-temperature
            --instrucl-layer 2                              :: --instrucl-layer
            --tpdm-new-generator                            :: --tpdm-new-generator
        fairseq-train {data} {stock_task} {stock} {instrucl} :: --arch
        fairseq-train {data} {base} {stock} {terms}         :: --arch
        """,
        data=databin(),
        base=BASE,
        tdo=TOPOLOGIES["tdo"],
        terms=TERMS,
        stock_task=STOCK_TASK,
        stock=STOCK,
        instrucl=INSTRUCL,
    )


@pytest.mark.parametrize(
    ("name", "class_name", "terms"),
    [
        ("instrucl", "LabelSmoothedCrossEntropyInstruCL", ("instrucl",)),
        ("tpdm", "LabelSmoothedCrossEntropyTPDM", ("tpdm",)),
        ("tlm", "LabelSmoothedCrossEntropyTLM", ("reconstruction",)),
    ],
)
def test_presets(name, class_name, terms):
    """A checkpoint holds the class's name, and does not resume with another."""
    preset = CRITERION_REGISTRY[f"label_smoothed_cross_entropy_{name}"]
    assert (preset.__name__, preset.preset) == (class_name, terms)


def test_the_preset_is_the_term_named_by_hand():
    _, model, preset, (batch,) = model_and_batches(*INSTRUCL)
    _, _, named, _ = model_and_batches(
        *TERMS, "--loss-terms", "instrucl", "--instrucl-scale", "per-token"
    )
    assert preset(model, batch)[0].item() == named(model, batch)[0].item()


def test_a_stock_model_is_refused_where_the_criterion_meets_it():
    _, _, criterion, (batch,) = model_and_batches(*INSTRUCL)
    _, model, _ = built(*STOCK_TASK, *STOCK, *TERMS)
    with pytest.raises(UserError, match="`--arch`"):
        criterion(model, batch)


def test_a_stock_model_without_terms():
    task, model, criterion = built(*STOCK_TASK, *STOCK, *TERMS)
    batch = iterate(task, "train")[0]
    stock = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)
    torch.testing.assert_close(criterion(model.eval(), batch)[0], stock(model, batch)[0])


# --- what is logged --------------------------------------------------------------------------


def reduced(criterion, logs):
    with metrics.aggregate(new_root=True) as meters:
        criterion.reduce_metrics(logs)
    return meters.get_smoothed_values()


def test_logs_of_several_workers_are_means_of_all():
    _, model, criterion, batches = model_and_batches(*INSTRUCL, batches=3)
    logs = [criterion(model, batch)[2] for batch in batches]
    assert criterion.logging_outputs_can_be_summed()
    tokens = sum(batch["ntokens"] for batch in batches)
    sentences = sum(len(batch["id"]) for batch in batches)
    summed = {key: sum(float(log[key]) for log in logs) for key in logs[0]}
    expected = {
        "loss": summed["loss"] / tokens / math.log(2),
        "nll_loss": summed["nll_loss"] / tokens / math.log(2),
        "objective": summed["objective"] / tokens / math.log(2),
        "instrucl_loss": summed["instrucl_loss"] / sentences,
    }
    for smoothed in (reduced(criterion, logs), reduced(criterion, [summed])):
        for key, value in expected.items():
            assert float(smoothed[key]) == pytest.approx(value, abs=2e-3), key


def test_a_log_without_a_term_s_tokens_adds_none():
    """As of an update in which the term asked for nothing, beside one in which it did."""
    _, _, criterion, _ = model_and_batches(*INSTRUCL)
    shared = {"sample_size": 4, "ntokens": 4, "nsentences": 2, "loss": 1.0, "nll_loss": 1.0}
    term_log = {"reconstruction_nll_loss": 6 * math.log(2), "reconstruction_ntokens": 3}
    smoothed = reduced(
        criterion, [{**shared, "objective": 1.0, **term_log}, {**shared, "objective": 1.0}]
    )
    assert float(smoothed["reconstruction_nll_loss"]) == 2.0


def test_validation_logs_both_losses():
    task, model, criterion, _ = model_and_batches(*INSTRUCL)
    (batch, *_) = iterate(task, "valid")
    loss, size, logs = task.valid_step(batch, model, criterion)
    assert {"loss", "nll_loss", "objective", "instrucl_loss"} <= set(logs)
    assert float(logs["objective"]) == pytest.approx(loss.item())
    assert size == batch["ntokens"]
    assert not any(parameter.grad is not None for parameter in model.parameters())
