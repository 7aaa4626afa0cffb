"""A training in fp16 that overflows says in which layer; an ordinary update is not observed."""

import logging
import math
import shutil
from types import SimpleNamespace

import pytest
import torch
from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, databin, train
from torch import nn

from tdo_compat.overflow import Diverged, Extremes, _ended, _Finding

FLAGS = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY)
HALF = ("--fp16", "--memory-efficient-fp16", "--max-epoch", "1", "--no-epoch-checkpoints")
LARGE = "core.stack.layers.1.feed_forward.inner"


@pytest.fixture(scope="module")
def enlarged(tmp_path_factory):
    """Makes a checkpoint one of whose weights is multiplied by a factor."""
    folder = tmp_path_factory.mktemp("model")
    train(folder, *FLAGS, "--max-update", "1", "--no-epoch-checkpoints", "--disable-validation")
    state = torch.load(folder / "checkpoint_last.pt", weights_only=False)

    def checkpoint(name, factor):
        path = folder / f"{name}-{factor}.pt"
        weights = {**state["model"]}
        weights[f"{name}.weight"] = weights[f"{name}.weight"] * factor
        torch.save({**state, "model": weights}, path)
        return path

    return checkpoint


def test_the_command_ends_with_that_line(enlarged, refused, tmp_path):
    begun = shutil.copy(enlarged(LARGE, 1e5), tmp_path / "begun.pt")
    flags = ("--finetune-from-model", begun, "--min-loss-scale", "100", "--save-dir", tmp_path)
    words = ("fairseq-train", databin(), *FLAGS, *HALF, *flags)
    refused(*words, names="update 1 overflows", process=True)


def test_the_same_model_trains_in_bf16(enlarged, tmp_path):
    begun = ("--finetune-from-model", str(enlarged(LARGE, 1e5)), "--max-update", "1")
    bf16 = ("--bf16", "--memory-efficient-bf16", "--no-epoch-checkpoints", "--disable-validation")
    (log,) = train(tmp_path, *FLAGS, *bf16, *begun)
    assert math.isfinite(log["loss"])


def test_in_single_precision_the_learning_rate_is_to_blame(enlarged, tmp_path):
    begun = ("--finetune-from-model", str(enlarged(LARGE, math.inf)))
    with pytest.raises(Diverged, match=rf"^gradients of update 1 .* {LARGE} is .* a lower `--lr`"):
        train(tmp_path, *FLAGS, "--max-epoch", "1", *begun)


def test_a_loss_scale_that_sinks_is_warned_of_once(enlarged, tmp_path, monkeypatch, caplog):
    # fairseq puts a skipped update's norm on a GPU
    monkeypatch.setattr(torch.Tensor, "cuda", lambda tensor: tensor)
    begun = ("--finetune-from-model", str(enlarged(LARGE, 1e5)), "--min-loss-scale", "0.05")
    with caplog.at_level(logging.INFO), pytest.raises(Diverged):
        train(tmp_path, *FLAGS, *HALF, "--fp16-init-scale", "4", *begun)
    (warning,) = [record.getMessage() for record in caplog.records if "sank" in record.getMessage()]
    assert warning.startswith("the loss scale sank to 0.25: in fp16, whose largest number is ")
    assert f"the output of {LARGE} is the first that is not finite" in warning


def test_an_ordinary_update_is_not_observed(tmp_path, monkeypatch):
    def observed(*_):
        raise AssertionError("the model has hooks")

    monkeypatch.setattr(nn.Module, "register_forward_hook", observed)
    (log,) = train(tmp_path, *FLAGS, *HALF, "--max-update", "1", "--disable-validation")
    assert math.isfinite(log["loss"])


def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def passed(model, x, weight=1.0):
    with Extremes(model) as extremes:
        (weight * model(x).sum()).backward()
    return extremes.finding()


def test_the_first_in_the_order_of_computation_is_named():
    """Gradients if all outputs are finite."""
    broken, x = model(), torch.ones(2, 3)
    assert passed(broken, x, math.inf) == "the gradient of 2 is the first that is not finite"
    broken[0].bias.data[1] = math.nan
    assert passed(broken, x).startswith("the output of 0 is the first ")
    # and without an overflow the largest
    assert passed(model(), torch.full((2, 3), 500.0)).startswith("all is finite, and the largest ")
    assert passed(nn.Sequential(), torch.ones(2, requires_grad=True)).startswith("no output ")


def test_a_parameter_whose_gradient_overflows_is_named():
    """Every summand is finite, their sum is not."""
    broken = model().half()
    x = torch.full((4, 3), 30000.0, dtype=torch.float16)
    with torch.no_grad():
        broken[0].weight.fill_(1e-3)
        broken[2].weight.fill_(1e-3)
    assert passed(broken, x, 1000.0) == "the gradient of 2.weight is the first that is not finite"


def test_hooks_are_removed():
    """Also from a parameter that a module returns."""
    observed = model()
    passed(observed, torch.ones(2, 3))
    assert not any(part._forward_hooks for part in observed.modules())
    assert not any(part._post_accumulate_grad_hooks for part in observed.parameters())

    class Factor(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.weight

    observed = Factor()
    passed(nn.Sequential(observed), torch.ones(3))
    assert not observed.weight._backward_hooks


def test_unequal_workers_keep_fairseqs_own_message():
    finding = _Finding("the output of x is large")
    finding.__context__ = FloatingPointError("Fatal error: gradients are inconsistent between ...")
    assert _ended(SimpleNamespace(), finding) is finding.__context__
