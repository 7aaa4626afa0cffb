"""Checkpoints that lack a part, or have another in its place, are refused in one line."""

import argparse
import zipfile

import numpy
import pytest
import torch
from fairseq import checkpoint_utils

from tdo_compat.checkpoint import CheckpointError, blaming, safe_load
from tdo_compat.checkpoint_form import with_form
from tdo_plugin.errors import UserError

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


ELSEWHERE = [  # in parts that fairseq, or a command of this package, reads
    *((("task_state", name), 5) for name in ("text", "text_form", "remembered", "languages")),
    (("task_state", "languages"), [1]), (("task_state", 3), 4),
    *((("cfg", name), "x") for name in ("checkpoint", "criterion", "generation", "common")),
    (("cfg", "model", "_name"), 3), (("cfg", "criterion"), {3: 3}),
    (("cfg", "model", "tdo_layers"), 10**7), (("cfg", "model", "tdo_ffn_dim"), 10**7),
    (("made_by",), 3), (("made_by",), {"command": 5}), (("made_by",), {"versions": 6}),
    *((("extra_state", "metrics"), value) for value in (3, {"train": [3]}, {"default": []})),
    (("extra_state", "averaged"), 5), (("extra_state", "averaged"), [5]),
    *((("extra_state", "best"), value) for value in (None, "x", 10**400)),
    (("extra_state", "previous_training_time"), None),
    (("last_optimizer_state",), {"param_groups": 3}),
    (("last_optimizer_state",), {"param_groups": [{"params": [0, 0]}]}),
    (("last_optimizer_state",), {"param_groups": [{"params": ["a"]}]}),
    (("last_optimizer_state",), {"param_groups": [], "state": 3}),
    (
        ("last_optimizer_state",),
        {"param_groups": [], "state": {0: {"exp_avg": torch.ones(2).to_sparse()}}},
    ),
]  # fmt: skip


def nested(levels):
    group = []
    for _ in range(levels):
        group = [group]
    return group


def in_itself():
    group = {}
    group["self"] = group
    return group


PARAMETERS = {
    "text": "text", "nothing": None, "a list": [1.0],
    "complex": torch.zeros(2, dtype=torch.complex64),
    "without values": torch.zeros(2, device="meta"), "sparse": torch.zeros(2, 2).to_sparse(),
    "deep": nested(400), "in itself": in_itself(),
}  # fmt: skip
PROGRESS = {
    "num_updates": ("many", -1, 1.5, float("nan"), float("inf"), 2**40, None, torch.ones(2)),
    "epoch": ("one", -1, 10**20, None),
    "iterations_in_epoch": ("x", -3, [1]),
    "val_loss": ("low", [1.0]),
    "optimizer_name": (3, None),
    "lr_scheduler_state": (None, [1], "x"),
}


def with_progress(name, value):
    if name in ("epoch", "iterations_in_epoch"):
        return {**SOUND, "extra_state": {"train_iterator": {"epoch": 1, name: value}}}
    if name == "val_loss":
        return {**SOUND, "extra_state": {name: value}}
    return {**SOUND, "optimizer_history": [{**SOUND["optimizer_history"][0], name: value}]}


def replaced(group, place, value):
    key, *inner = place
    if inner:
        return {**group, key: replaced(group[key], inner, value)}
    kept = {name: entry for name, entry in group.items() if name != key}
    return kept if value is ABSENT else {**kept, key: value}


def test_parameters_and_progress_have_their_form(refused):
    for case, value in PARAMETERS.items():
        with refused.raised(f"a parameter: {case}", names="must"):
            with_form({**SOUND, "model": {"weight": value}}, "a.pt")
    with refused.raised("a parameter's name", names="names that are text"):
        with_form({**SOUND, "model": {1: torch.zeros(2)}}, "a.pt")
    for name, values in PROGRESS.items():
        for value in values:
            with refused.raised(f"{name}: {value!r}", names=f"`{name}` of a.pt must be"):
                with_form(with_progress(name, value), "a.pt")
    for name, value in (("num_updates", torch.tensor(3)), ("val_loss", None), ("epoch", 7)):
        assert with_form(with_progress(name, value), "a.pt")
    for value in (5, {"num_runs": "many"}, {"best": [1]}):
        with refused.raised(f"early_stop: {value!r}", names="of a.pt must be"):
            with_form({**SOUND, "extra_state": {"early_stop": value}}, "a.pt")
    for value in (numpy.ones(2), torch.ones(1).to_sparse()):
        with pytest.raises(CheckpointError, match=r"`num_updates` of a.pt must be"):
            with_form(with_progress("num_updates", value), "a.pt")
    shared = [1]
    assert with_form({**SOUND, "extra_state": {"a": [shared] * 100}}, "a.pt")


def test_parts_that_are_read_elsewhere_have_their_form(refused):
    for place, value in ELSEWHERE:
        with refused.raised(f"{'.'.join(map(str, place))}: {str(value)[:40]}", names="a.pt"):
            with_form(replaced({"made_by": {}, **SOUND}, place, value), "a.pt")
    fine = {"param_groups": [{"params": [0, 1]}], "state": {0: {"step": 3}}}
    assert with_form({**SOUND, "last_optimizer_state": fine}, "a.pt")


def test_what_is_wrong_beyond_the_form_is_blamed_on_the_checkpoint():
    blamed = pytest.raises(CheckpointError, match=r"^a\.pt must be a whole .* KeyError: 'x'$")
    with blamed, blaming("a.pt"):
        {}["x"]
    with pytest.raises(UserError, match="its own line"), blaming("a.pt"):
        raise UserError("its own line")


def test_values_that_a_mapped_file_lacks_are_missed(tmp_path):
    """torch maps what is behind the end of an emptied part."""
    whole, cut = tmp_path / "whole.pt", tmp_path / "cut.pt"
    torch.save({"model": {"weight": torch.ones(100)}}, whole)
    assert safe_load(str(whole), mmap=True)
    with zipfile.ZipFile(whole) as read, zipfile.ZipFile(cut, "w") as write:
        for part in read.infolist():
            data = part.filename.endswith("data/0")
            write.writestr(part.filename, b"" if data else read.read(part))
    with pytest.raises(CheckpointError, match="truncated or damaged"):
        safe_load(str(cut), mmap=True)


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
        with pytest.raises(CheckpointError, match=r"must have fairseq's format|must be a group"):
            load(changed, tmp_path)
