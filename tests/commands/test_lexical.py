"""The first stage's own translation through fairseq: training, its end, resuming."""

import pytest
import torch
from support.data import TAG, TASK, TRAIN, built, iterate, train
from support.ddp import in_torch_s_wrapper
from support.trainings import assert_same_parameters, stopped_and_resumed

from tdo_plugin.criterions.loss_terms import Update, combined

SIZES = ("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12")
TDO = ("--arch", "tdo_transformer", "--tdo-layers", "3", "--tdo-target-layer", "1")
BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *SIZES, *TDO, "--dropout", "0")
TERMS = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1")
LEXICAL = ("--loss-terms", "lexical", "--lexical-weight", "0.5", "--lexical-updates", "4")


@pytest.mark.parametrize(
    ("batches", "updates", "expected"),
    [
        ("1", "6", [0.5, 0.375, 0.25, 0.125, 0, 0]),
        ("2", "3", [0.5, 0.5, 0.375, 0.375, 0.25, 0.25]),
    ],
)
def test_its_weight_falls_with_each_update_and_is_gone(batches, updates, expected, tmp_path):
    ending = ("--update-freq", batches, "--max-update", updates)
    logs = train(tmp_path, *BASE, *TERMS, *LEXICAL, *ending)
    weights = [log["lexical_weight"] / log["nsentences"] for log in logs]
    assert weights == pytest.approx(expected)
    for log in logs:
        nll = log.get("lexical_nll_loss", 0)
        assert (nll > 0) == (log["lexical_weight"] > 0)
        assert (log["objective"] > log["loss"]) == (nll > 0)


def test_it_goes_on_where_it_was(tmp_path):
    flags = (*BASE, *TERMS, *LEXICAL)
    stopped_and_resumed(tmp_path, *flags, stop=2, end=6)
    assert_same_parameters(tmp_path / "through", tmp_path / "parts")


def test_the_objective_is_the_sum():
    """Cross-entropy as without it, and the weighted likelihood of the first stage's words."""
    task, model, criterion = built(*BASE, *TERMS, *LEXICAL)
    batch = iterate(task, "train")[0]
    model.eval()
    with torch.no_grad(), criterion.in_update(lr=0.1, number=0):
        loss, _, logs = criterion(model, batch)
        request = combined([criterion.terms["lexical"].request(model, batch, Update(lr=0.1))])
        _, extra = model(**batch["net_input"], **request)
    expected = logs["loss"] + 0.5 * extra["source_losses"][0]
    torch.testing.assert_close(loss.double(), torch.as_tensor(expected).double())


def test_gradients_in_torch_s_wrapper_are_the_same(tmp_path):
    """The blocks that are computed again in the backward pass are part of the wrapped forward."""
    task, model, criterion = built(*BASE, *TERMS, *LEXICAL)
    batch = iterate(task, "train")[0]

    def gradients(of):
        model.zero_grad()
        with criterion.in_update(lr=0.1, number=0):
            criterion(of, batch)[0].backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    plain = gradients(model)
    wrapped = in_torch_s_wrapper(model, gradients, tmp_path / "meeting")
    for gradient, expected in zip(wrapped, plain, strict=True):
        torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize(
    "precision", [("--bf16",), ("--fp16", "--fp16-no-flatten-grads")], ids=" ".join
)
def test_half_precision_trains(precision, tmp_path):
    flags = (*BASE, *TERMS, *LEXICAL, "--max-update", "4", "--lr", "0.001")
    half = train(tmp_path / "half", *flags, *precision)
    full = train(tmp_path / "full", *flags)
    for key in ("loss", "lexical_nll_loss"):
        assert [log[key] for log in half] == pytest.approx([log[key] for log in full], rel=0.03)
    assert half[-1]["loss"] != full[-1]["loss"]


@pytest.mark.parametrize(("updates", "warned"), [("4", True), ("5", False), ("0", False)])
def test_a_training_that_ends_with_it_is_warned_of(caplog, updates, warned):
    built(*BASE, *TERMS, *LEXICAL, "--max-update", updates)
    messages = [record.getMessage() for record in caplog.records]
    assert [line for line in messages if "loss term lexical" in line] == warned * [
        "the loss term lexical stays on until the end: --max-update is 4, --lexical-updates 4"
    ]
