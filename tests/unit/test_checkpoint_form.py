"""Checkpoints that lack a part, or have another in its place, are refused in one line."""

import argparse

import pytest
import torch
from fairseq import checkpoint_utils

from tdo_compat.checkpoint import CheckpointError, with_form

OTHERS = ("text", 3, [1], None)
ABSENT = object()
SOUND = {
    "args": None,
    "cfg": {
        "task": argparse.Namespace(task="tdo_translation", lang_pairs="de-en"),
        "model": {"_name": "tdo_transformer", "dropout": 0.1},
        "generation": {"print_alignment": None},
    },
    "model": {"weight": torch.zeros(2)},
    "optimizer_history": [{"optimizer_name": "x", "lr_scheduler_state": {}, "num_updates": 1}],
    "task_state": {"languages": ["de", "en"]},
    "extra_state": {"train_iterator": {"epoch": 1}},
}
PARTS = ("model", "extra_state", "optimizer_history", "cfg")
WRONG = [
    *(((part,), value) for part in PARTS for value in (*OTHERS, ABSENT)),
    *((("task_state",), value) for value in OTHERS),
    *((("cfg", "task"), value) for value in (*OTHERS, ABSENT, {"dropout": 0.1})),
    *((("cfg", "model"), value) for value in (*OTHERS, ABSENT, {"dropout": 0.1})),
]


def replaced(group, place, value):
    key, *inner = place
    if inner:
        return {**group, key: replaced(group[key], inner, value)}
    kept = {name: entry for name, entry in group.items() if name != key}
    return kept if value is ABSENT else {**kept, key: value}


def load(state, tmp_path):
    torch.save(state, tmp_path / "changed.pt")
    return checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "changed.pt"))


def test_the_checkpoint_itself_is_read(tmp_path):
    assert load(SOUND, tmp_path)["cfg"].model.dropout == 0.1


def test_parts_of_another_kind_are_refused(refused, tmp_path):
    for place, value in WRONG:
        case = f"{'.'.join(place)}: {'none' if value is ABSENT else value!r}"
        with refused.raised(case, names="must"):
            load(replaced(SOUND, place, value), tmp_path)
    for value in ("text", 3, {}):
        with refused.raised(f"args: {value!r}", names="must"):
            load({**SOUND, "cfg": None, "args": value}, tmp_path)
    for name in ("optimizer_history", "extra_state"):
        with refused.raised(f"{name} for another reader", names=f"`{name}` of a.pt"):
            with_form({**SOUND, name: 3}, "a.pt")
    for changed in (
        {**SOUND, "cfg": None, "args": argparse.Namespace()},
        *(replaced(SOUND, ("cfg", "generation"), value) for value in ("text", 3, [1], {})),
    ):
        with pytest.raises(CheckpointError, match="a checkpoint must have fairseq's format"):
            load(changed, tmp_path)
