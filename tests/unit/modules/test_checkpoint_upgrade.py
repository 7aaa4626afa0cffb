"""Checkpoints of earlier versions load under the names of this one."""

import re

import pytest
import torch
from support.built_models import TWO_STAGE, build

from tdo_plugin.modules.checkpoint_upgrade import RENAMED, upgraded

PARTS = {"adaptation_dim": 8, "norm": "pre", "tpdm_layer": 1, "tpdm_gate": "relaxed-bernoulli"}


def old_name(name):
    """As the first version with the part would have written it."""
    for old, new in RENAMED.items():
        name = re.sub(rf"(?<![^.]){re.escape(new)}(?=\.)", old, name)
    return name


@pytest.mark.parametrize("old", RENAMED)
def test_every_renamed_part_is_found_again(old):
    present = build(**TWO_STAGE, **PARTS).state_dict(prefix="core.")
    former = {old_name(name): value for name, value in present.items()}
    assert any(f".{old}." in name for name in former), "no parameter had the old name"
    assert not any(f".{old}." in name for name in present)
    state = upgraded(former)
    assert list(state) == list(present)
    assert all(torch.equal(state[name], value) for name, value in present.items())


def test_present_names_and_others_stay():
    names = ["core.stack.bridge.0.weight", "encoder.entry.weight", "core.in_between.weight", "x"]
    assert list(upgraded(dict.fromkeys(names))) == names
