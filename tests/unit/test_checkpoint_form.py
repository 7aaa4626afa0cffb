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


def replaced(group, key, value):
    kept = {name: entry for name, entry in group.items() if name != key}
    return kept if value is ABSENT else {**kept, key: value}


def load(state, tmp_path):
    torch.save(state, tmp_path / "changed.pt")
    return checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "changed.pt"))


def test_the_checkpoint_itself_is_read(tmp_path):
    assert load(SOUND, tmp_path)["cfg"].model.dropout == 0.1


@pytest.mark.parametrize("value", [*OTHERS, ABSENT], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("part", ["model", "extra_state", "optimizer_history", "cfg"])
def test_a_part_is_there(part, value, tmp_path):
    with pytest.raises(
        CheckpointError,
        match=r"changed\.pt (must|does not)|a checkpoint must have fairseq's format",
    ):
        load(replaced(SOUND, part, value), tmp_path)


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_other_readers_refuse_it_likewise(value):
    with pytest.raises(CheckpointError, match=r"`optimizer_history` of a\.pt must be"):
        with_form({**SOUND, "optimizer_history": value}, "a.pt")
    with pytest.raises(CheckpointError, match=r"`extra_state` of a\.pt must be"):
        with_form({**SOUND, "extra_state": value}, "a.pt")


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_what_the_task_remembers_is_a_group(value, tmp_path):
    with pytest.raises(CheckpointError, match=r"`task_state` of .*changed\.pt must be a group"):
        load(replaced(SOUND, "task_state", value), tmp_path)


@pytest.mark.parametrize("value", [*OTHERS, ABSENT], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("group", ["task", "model"])
def test_its_settings_have_groups(group, value, tmp_path):
    cfg = replaced(SOUND["cfg"], group, value)
    with pytest.raises(CheckpointError, match=rf"`{group}` of .*changed\.pt must be a group"):
        load({**SOUND, "cfg": cfg}, tmp_path)


@pytest.mark.parametrize("value", ["text", 3, [1], {}], ids=str)
def test_what_fairseq_brings_up_to_date_has_its_form(value, tmp_path):
    cfg = {**SOUND["cfg"], "generation": value}
    with pytest.raises(CheckpointError, match="a checkpoint must have fairseq's format"):
        load({**SOUND, "cfg": cfg}, tmp_path)


@pytest.mark.parametrize("group", ["task", "model"])
def test_a_group_names_what_is_built_by_it(group, tmp_path):
    cfg = replaced(SOUND["cfg"], group, {"dropout": 0.1})
    with pytest.raises(CheckpointError, match=rf"`{group}` of .*changed\.pt must have a name"):
        load({**SOUND, "cfg": cfg}, tmp_path)


@pytest.mark.parametrize("value", ["text", 3, {}, argparse.Namespace()])
def test_older_settings_are_of_their_kind(value, tmp_path):
    with pytest.raises(CheckpointError, match=r"changed\.pt must|a checkpoint must have"):
        load({**SOUND, "cfg": None, "args": value}, tmp_path)
