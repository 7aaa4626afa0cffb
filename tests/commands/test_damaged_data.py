"""Damaged data folders end in one line that names set and file, whatever command opens them."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.commands import refused, told
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, generate, train
from support.prepared import LARGER, TASK, prepared, trained

from tdo_compat.digests import DIGESTS, DamagedData
from tdo_plugin.data.databin import settings_of

FLAGS = (*TASK, *TAG)
TRAINING = (*FLAGS, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY, "--max-update", "3")
GENERATION = (*FLAGS, "-s", "en", "-t", "de", "--beam", "2")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of one's own to damage."""
    shutil.copytree(prepared().root, tmp_path / "data")
    return tmp_path / "data"


def beyond(path: Path) -> None:
    """The first word of a side is the symbol behind its dictionary: a tag in a training."""
    words = (path.parent / "dict.txt").read_text(encoding="utf-8").count("\n")
    with path.with_name(f"{path.name}.bin").open("r+b") as stream:
        stream.write(np.uint16(4 + words).tobytes())


def endless(path: Path) -> None:
    with path.with_name(f"{path.name}.bin").open("r+b") as stream:
        stream.seek(-2, os.SEEK_END)
        stream.write(np.uint16(4).tobytes())


def flipped(path: Path) -> None:
    with path.with_name(f"{path.name}.idx").open("r+b") as stream:
        stream.seek(26)
        (length,) = stream.read(1)
        stream.seek(26)
        stream.write(bytes([length ^ 1]))


def emptied(path: Path) -> None:
    os.truncate(f"{path}.idx", 0)


def reworded(path: Path) -> None:
    """One word is another, which digests alone can tell."""
    with path.with_name(f"{path.name}.bin").open("r+b") as stream:
        (token,) = stream.read(1)
        stream.seek(0)
        stream.write(bytes([token ^ 1]))


DAMAGE = (beyond, endless, flipped, emptied, reworded)


def run(split: str, data: Path, out: Path, task: str) -> object:
    """What opens such a set: a training, its validation, or fairseq-generate."""
    flags = ("--task", task, "--max-tokens", "600")
    if split == "test":
        return generate(*GENERATION, "--path", str(trained()), *flags, data=data)
    return train(out, *TRAINING, *flags, data=data)


@pytest.mark.parametrize("task", ["tdo_translation", "translation_multi_simple_epoch"])
@pytest.mark.parametrize("split", ["train", "valid", "test"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_stock_commands(
    damage: Callable[[Path], None], split: str, task: str, data: Path, tmp_path: Path
) -> None:
    side = data / f"{split}.en-de.en"
    damage(side)
    with pytest.raises(DamagedData, match=f"of set {side.stem} is damaged: ") as raised:
        run(split, data, tmp_path / "out", task)
    assert str(raised.value).startswith(f"`data` must have intact files; {side}.")
    assert not (tmp_path / "out" / "crash.pt").exists()


def test_a_command_says_one_line(data: Path, tmp_path: Path) -> None:
    side = data / "train.en-de.en"
    beyond(side)
    saved = ("--save-dir", str(tmp_path / "out"), "--task", "tdo_translation")
    line = refused("train", str(data), *TRAINING, *saved)
    assert line.startswith(
        f"`data` must have intact files; {side}.bin of set {side.stem} is damaged"
    )


@pytest.mark.parametrize("damage", DAMAGE)
def test_tdo_commands(
    damage: Callable[[Path], None], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side = data / "test.en-de.en"
    damage(side)
    _, errors = told(capsys, "inspect", data, code=2)
    assert f"{side}." in errors and errors.count("\n") == 1
    words = ("translate", data, "--path", trained(), "--cpu", "--workers", "1", "--beam", "1")
    _, errors = told(capsys, *words, "--pairs", "en-de", "--out", tmp_path / "out", code=1)
    assert f"{side}." in errors and "Traceback" not in errors
    assert not (tmp_path / "out" / "en-de.hyp").exists()


def test_digests_are_written_and_inspected(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = json.loads((data / "prepared.json").read_text(encoding="utf-8"))
    named = set(mark[DIGESTS])
    assert {path.name for path in data.glob("*.idx")} <= named
    assert {"dict.txt", "dict.en.txt", "spm.model", "reference/test.en"} <= named
    printed, _ = told(capsys, "inspect", data)
    assert f"All {len(named)} files match the digests from when the folder was made" in printed
    assert settings_of(data) == {name: value for name, value in mark.items() if name != DIGESTS}
    for name in ("dict.fr.txt", "spm.model", "reference/test.de"):
        content = (data / name).read_bytes()
        (data / name).write_bytes(content[:-2] + b"x\n")
        _, errors = told(capsys, "inspect", data, code=2)
        assert f"{data / name} is damaged: it has changed" in errors
        (data / name).write_bytes(content)
    (data / "test.en-fr.fr.bin").unlink()
    _, errors = told(capsys, "inspect", data, code=2)
    assert "test.en-fr.fr.bin" in errors


def test_an_older_folder_goes_on_working(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = json.loads((data / "prepared.json").read_text(encoding="utf-8"))
    del mark[DIGESTS]
    (data / "prepared.json").write_text(json.dumps(mark))
    printed, _ = told(capsys, "inspect", data)
    assert "prepared.json has no file digests" in printed
    flipped(data / "train.en-de.de")
    _, errors = told(capsys, "inspect", data, code=2)
    assert "train.en-de.de.idx of set train.en-de is damaged: sentence 2: it begins" in errors


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_damaged_mark(content: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "prepared.json").write_text(content)
    _, errors = told(capsys, "inspect", data, code=2)
    assert "prepared.json is damaged" in errors
