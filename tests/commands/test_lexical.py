"""The first stage's own translation through fairseq: training, its end, resuming."""

import pytest
import torch
from support.data import TAG, TASK, TRAIN, built, iterate, train

SIZES = ("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12")
TDO = ("--arch", "tdo_transformer", "--tdo-layers", "3", "--tdo-target-layer", "1")
BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *SIZES, *TDO, "--dropout", "0")
TERMS = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1")
LEXICAL = ("--loss-terms", "lexical", "--lexical-weight", "0.5", "--lexical-updates", "4")


def parameters(folder):
    return torch.load(folder / "checkpoint_last.pt", weights_only=False)["model"]


def test_its_weight_falls_and_is_gone(tmp_path):
    found = train(tmp_path / "whole", *BASE, *TERMS, *LEXICAL, "--max-update", "6")
    weights = [one["lexical_weight"] / one["nsentences"] for one in found]
    assert weights == pytest.approx([0.5, 0.375, 0.25, 0.125, 0, 0])
    for one in found:
        told = one.get("lexical_nll_loss", 0)
        assert (told > 0) == (one["lexical_weight"] > 0)
        assert (one["objective"] > one["loss"]) == (told > 0)


def test_it_goes_on_where_it_was(tmp_path):
    flags = (*BASE, *TERMS, *LEXICAL)
    whole = train(tmp_path / "whole", *flags, "--max-update", "6")
    begun = train(tmp_path / "resumed", *flags, "--max-update", "2")
    resumed = train(tmp_path / "resumed", *flags, "--max-update", "6")
    assert [one["loss"] for one in (*begun, *resumed)] == [one["loss"] for one in whole]
    own, wanted = parameters(tmp_path / "resumed"), parameters(tmp_path / "whole")
    assert all(torch.equal(own[name], wanted[name]) for name in wanted)


def test_the_objective_is_the_sum():
    """Cross-entropy as without it, and the weighted likelihood of the first stage's words."""
    task, model, criterion = built(*BASE, *TERMS, *LEXICAL)
    batch = iterate(task, "train")[0]
    model.eval()
    with torch.no_grad(), criterion.in_update(lr=0.1, number=0):
        loss, _, logs = criterion(model, batch)
        _, extra = model(**batch["net_input"], lexical_target=batch["target"])
    wanted = logs["loss"] + 0.5 * extra["lexical"]
    torch.testing.assert_close(loss.double(), torch.as_tensor(wanted).double())


@pytest.mark.parametrize(("updates", "warned"), [("4", True), ("5", False), ("0", False)])
def test_a_training_that_ends_with_it_is_warned_of(caplog, updates, warned):
    built(*BASE, *TERMS, *LEXICAL, "--max-update", updates)
    said = [one.getMessage() for one in caplog.records if "loss term lexical" in one.getMessage()]
    assert said == warned * [
        "the loss term lexical is there to the end: --max-update is 4, --lexical-updates 4"
    ]
