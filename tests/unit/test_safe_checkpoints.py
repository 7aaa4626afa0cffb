"""Checkpoints: safe loading with an allow-list, and writing that leaves only whole files."""

import argparse
import os
import pickle
from pathlib import Path

import numpy
import omegaconf
import pytest
import torch
from fairseq import checkpoint_utils

from tdo_compat import errors
from tdo_compat.checkpoint import TRUST, CheckpointError, _allowed_globals, safe_load, write_whole


class Command:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


class Interrupt:
    def __reduce__(self):
        raise KeyboardInterrupt


class Other(list):
    """A harmless class that is not on the allow-list."""


def state(**more):
    config = omegaconf.OmegaConf.create(
        {
            "task": {"_name": "translation"},
            "model": {"_name": "x", "width": 4, "rate": 0.5, "names": ["a", None], "on": True},
        },
        flags={"allow_objects": True},
    )
    config.model.args = argparse.Namespace(arch="x")
    return {
        "args": argparse.Namespace(arch="transformer", task="translation", lr=[0.1]),
        "cfg": config,
        "model": {"w": torch.ones(3)},
        "optimizer_history": [{"num_updates": numpy.int64(3), "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": None, "best": numpy.float64(1.5), "a": numpy.eye(2)},
        **more,
    }


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "checkpoint_last.pt")


def test_what_fairseq_writes_is_loaded(path):
    torch.save(state(), path)
    loaded = safe_load(path)
    assert loaded["cfg"] == state()["cfg"]
    assert loaded["cfg"].model.args.arch == "x"
    assert loaded["extra_state"]["best"] == 1.5
    assert loaded["extra_state"]["a"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("home", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_numpy_scalars_of_both_generations(home, path):
    """numpy 2 moved the function that rebuilds a scalar; files hold its old or its new name."""
    names = dict((name, allowed) for allowed, name in _allowed_globals())
    assert names[f"{home}.scalar"](numpy.dtype("f8"), numpy.float64(2.5).tobytes()) == 2.5


def test_fairseq_itself_loads_in_the_safe_mode(path, monkeypatch):
    modes = []
    load = torch.load
    monkeypatch.setattr(
        torch, "load", lambda *a, **k: modes.append(k["weights_only"]) or load(*a, **k)
    )
    checkpoint_utils.torch_persistent_save(state(args=None), path)
    assert checkpoint_utils.load_checkpoint_to_cpu(path)["model"]["w"].tolist() == [1, 1, 1]
    assert modes == [True]


def test_a_malicious_file_is_refused_and_does_nothing(path, tmp_path):
    torch.save(state(evil=Command(f"touch {tmp_path}/harm")), path)
    with pytest.raises(CheckpointError, match=rf"contains \w+\.system.*{TRUST}=1") as caught:
        checkpoint_utils.load_checkpoint_to_cpu(path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "harm").exists()
    assert errors.one_line(caught.type, caught.value) == str(caught.value)
    # and a plain pickle
    Path(path).write_bytes(pickle.dumps(Command(f"touch {tmp_path}/harm"), protocol=2))
    with pytest.raises(CheckpointError):
        safe_load(path)
    assert not (tmp_path / "harm").exists()


def test_trust_has_to_be_said(path, monkeypatch):
    torch.save(state(other=Other([1])), path)
    with pytest.raises(CheckpointError, match=r"contains [\w.]*Other"):
        safe_load(path)
    monkeypatch.setenv(TRUST, "yes")
    with pytest.raises(CheckpointError):
        safe_load(path)
    monkeypatch.setenv(TRUST, "1")
    assert safe_load(path)["other"] == [1]


@pytest.mark.parametrize("keep", [0, 10, 1000, -1])
def test_a_truncated_file_is_named_in_one_line(path, keep):
    torch.save(state(), path)
    Path(path).write_bytes(Path(path).read_bytes()[:keep])
    with pytest.raises(CheckpointError) as caught:
        checkpoint_utils.load_checkpoint_to_cpu(path)
    assert str(caught.value) == f"{path} is not a complete checkpoint: it is truncated or damaged"


def test_a_missing_file_stays_a_missing_file(path):
    with pytest.raises(FileNotFoundError):
        safe_load(path)


def test_an_interrupted_save_leaves_the_older_file(path, tmp_path):
    checkpoint_utils.torch_persistent_save({"x": 1}, path)
    with pytest.raises(KeyboardInterrupt):
        checkpoint_utils.torch_persistent_save({"x": 2, "y": Interrupt()}, path)
    assert safe_load(path) == {"x": 1}
    assert os.listdir(tmp_path) == ["checkpoint_last.pt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
def test_a_full_disk_leaves_the_older_file(path, tmp_path):
    """Whether another one is written, small or large, or copied."""
    source = str(tmp_path / "checkpoint1.pt")
    checkpoint_utils.torch_persistent_save({"x": 1}, path)
    checkpoint_utils.torch_persistent_save({"x": 2}, source)
    for save in (
        lambda: checkpoint_utils.torch_persistent_save({"x": torch.zeros(1)}, path),
        lambda: checkpoint_utils.torch_persistent_save({"x": torch.zeros(100_000)}, path),
        lambda: checkpoint_utils.PathManager.copy(source, path, overwrite=True),
    ):
        os.symlink("/dev/full", f"{path}.tmp")
        with pytest.raises(CheckpointError, match=f"could not write {path}: No space left on dev"):
            save()
        assert safe_load(path) == {"x": 1}
        assert sorted(os.listdir(tmp_path)) == ["checkpoint1.pt", "checkpoint_last.pt"]
    assert checkpoint_utils.PathManager.copy(source, path, overwrite=True) == path
    assert safe_load(path) == {"x": 2}


def test_an_unwritable_folder_is_one_line(tmp_path):
    path = str(tmp_path / "nowhere" / "x.pt")
    with pytest.raises(CheckpointError, match="No such file or directory"):
        write_whole(path, lambda file: file.write(b"x"))
