"""How much of the house an update walks through."""

import torch
from support.criterion_models import Optimizer
from support.data import INSTRUCL, TAG, TASK, TDO, TRAIN, built, iterate
from support.entered import entered

from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.layer import FeedForward


def test_an_update_enters_few_files():
    task, model, criterion = built(
        "--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, *INSTRUCL
    )
    batch = iterate(task, "train")[0]

    def update(number):
        task.train_step(batch, model, criterion, Optimizer(), number)

    update(1)  # what the first builds is not counted
    seen = entered(lambda: update(2))
    assert len(seen.files) <= 20
    assert seen.switches <= 155


def test_entries_are_counted():
    """Of one file into another, by way of torch too; within a file nothing is a switch."""
    dropout, ffn = PlainDropout(0.5), FeedForward(2, 2, PlainDropout(0.5))
    seen = entered(lambda: dropout(torch.ones(2)))
    assert (seen.files, seen.switches) == ({"/modules/dropout.py"}, 0)
    seen = entered(lambda: ffn(torch.ones(1, 2)))
    assert seen.files == {f"/modules/{name}.py" for name in ("dropout", "layer", "linear")}
    assert seen.switches == 3  # two projections, one dropout
