"""Values that are logged, as numbers in a file."""

import math
from types import SimpleNamespace

import torch

from tdo_plugin.recording.logged_values import FILE, append, read_losses, scalars


def test_single_numbers_are_kept():
    kept = {"loss": 1.5, "gnorm": torch.tensor(2.0), "wps": SimpleNamespace(val=7)}
    others = {"many": torch.ones(2), "text": "3", "on": True, "num_updates": 4}
    assert scalars({**kept, **others}) == {"loss": 1.5, "gnorm": 2.0, "wps": 7.0}


def test_a_resumed_training_replaces_what_it_does_again(tmp_path):
    assert read_losses(tmp_path) == {}
    for update, loss in ((1, 5.0), (2, 4.0), (3, math.nan), (2, 3.0)):
        append(tmp_path, "train_inner", update, {"loss": loss, "wps": 7.0, "bleu": 1.0})
    append(tmp_path, "valid", 3, {"loss": 2.0, "nll_loss": 1.0})
    with (tmp_path / FILE).open("a") as stream:
        stream.write('{"tag": "valid", "upda')  # a crash has cut it
    assert read_losses(tmp_path) == {
        "train_inner": {1: {"loss": 5.0, "wps": 7.0}, 2: {"loss": 3.0, "wps": 7.0}},
        "valid": {3: {"loss": 2.0, "nll_loss": 1.0}},
    }
