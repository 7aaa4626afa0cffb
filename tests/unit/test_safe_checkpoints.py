"""Checkpoints: safe loading with an allow-list, and writing that leaves only whole files."""

import argparse
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import omegaconf
import pytest
import torch
from fairseq import checkpoint_utils

from tdo_compat import errors
from tdo_compat.checkpoint import (
    TRUST,
    CheckpointError,
    _allowed_globals,
    own_name,
    safe_load,
    write_whole,
)


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


def damaged(path, *, at=None, cut=None, extra=b""):
    content = bytearray(Path(path).read_bytes())
    if at is not None:
        content[at] ^= 64
    Path(path).write_bytes(bytes(content[:cut]) + extra)


def test_one_changed_byte_is_noticed(path):
    """Of a tensor, of the names, or of the file's own list; torch itself does not look."""
    torch.save(state(model={"w": torch.ones(3000)}), path)
    size = os.path.getsize(path)
    damaged(path, at=size // 2)
    torch.load(path, weights_only=False)
    with pytest.raises(CheckpointError, match="truncated or damaged"):
        safe_load(path)
    with Path(path).open("rb") as file, pytest.raises(CheckpointError, match="damaged"):
        safe_load(file)
    torch.save(state(), path)
    with zipfile.ZipFile(path) as archive:
        (part,) = [part for part in archive.infolist() if part.filename.endswith("data.pkl")]
    damaged(path, at=part.header_offset + 200)
    with pytest.raises(CheckpointError):
        safe_load(path)


def test_parts_that_expand_or_overlap_are_not_read(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"0" * 10_000_000)
    with pytest.raises(CheckpointError, match="damaged"):
        safe_load(path)


def test_files_without_checksums_are_read(path, monkeypatch):
    """Those of older torch versions, and of newer ones that were told to leave them out."""
    monkeypatch.setattr(torch.serialization, "_compute_crc32", False, raising=False)
    torch.save(state(), path)
    assert safe_load(path)["model"]["w"].tolist() == [1, 1, 1]
    torch.save(state(), path, _use_new_zipfile_serialization=False)
    assert safe_load(path)["model"]["w"].tolist() == [1, 1, 1]


def test_a_damaged_last_checkpoint_names_the_newest_intact_one(path, tmp_path):
    for updates in (10, 20, 30):
        history = [{"num_updates": updates}]
        torch.save(state(optimizer_history=history), tmp_path / f"checkpoint_1_{updates}.pt")
    damaged(tmp_path / "checkpoint_1_30.pt", at=2000)
    (tmp_path / "checkpoint_best.pt").write_bytes((tmp_path / "checkpoint_1_20.pt").read_bytes())
    torch.save(state(), path)
    damaged(path, cut=-100)
    newest = tmp_path / "checkpoint_1_20.pt"
    advice = rf"newest intact one is {newest}, of update 20 \(`cp {newest} {path}` puts it"
    with pytest.raises(CheckpointError, match=advice):
        safe_load(path)


def test_a_name_that_is_not_unicode(path, tmp_path):
    """As Python has it for accented letters in an ASCII locale."""
    torch.save(state(), path)
    name = os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.pt")
    os.rename(path, name)
    assert safe_load(name, mmap=True)["model"]["w"].tolist() == [1, 1, 1]


def test_what_a_killed_process_left_is_removed(path, tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine = own_name(path)
    left, others = (
        mine.replace(f".{os.getpid()}.", f".{pid}.") for pid in (gone.pid, os.getppid())
    )
    for name in (left, others):
        Path(name).touch()
    checkpoint_utils.torch_persistent_save({"x": 1}, path)
    assert {*os.listdir(tmp_path)} == {"checkpoint_last.pt", os.path.basename(others)}


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
        os.symlink("/dev/full", own_name(path))
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
