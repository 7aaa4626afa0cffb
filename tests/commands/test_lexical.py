"""The first stage's own translation through fairseq: training, its end, resuming."""

import pytest
from support.covering import one_in
from support.data import TAG, TASK, TRAIN, built, train
from support.trainings import PRECISIONS, half_precision_is_near, stopped_and_resumed

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
        weight = log["lexical_weight"] / log["nsentences"]
        assert log["objective"] == pytest.approx(log["loss"] + weight * nll)


@pytest.mark.full
def test_it_goes_on_where_it_was(tmp_path):
    stopped_and_resumed(tmp_path, *BASE, *TERMS, *LEXICAL, stop=2, end=6)


@pytest.mark.parametrize("precision", one_in(2, PRECISIONS, 1))
def test_half_precision_trains(precision, tmp_path):
    flags = (*BASE, *TERMS, *LEXICAL, "--max-update", "4", "--lr", "0.001")
    half_precision_is_near(tmp_path, precision, *flags, keys=("loss", "lexical_nll_loss"))


@pytest.mark.parametrize(("updates", "warned"), [("4", True), ("5", False), ("0", False)])
def test_a_training_that_ends_with_it_is_warned_of(caplog, updates, warned):
    built(*BASE, *TERMS, *LEXICAL, "--max-update", updates)
    messages = [record.getMessage() for record in caplog.records]
    assert [line for line in messages if "loss term lexical" in line] == warned * [
        "the loss term lexical stays on until the end: --max-update is 4, --lexical-updates 4"
    ]
