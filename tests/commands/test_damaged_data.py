"""Damaged data folders end in one line that names set and file, whatever command opens them."""

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.commands import told
from support.covering import one_in
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, generate, train
from support.prepared import LARGER, TASK, prepared, trained

from tdo_compat.digests import DIGESTS
from tdo_plugin.data.databin import settings_of

FLAGS = (*TASK, *TAG)
TRAINING = (*FLAGS, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY, "--max-update", "3")
GENERATION = (*FLAGS, "-s", "en", "-t", "de", "--beam", "2")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of one's own to damage."""
    return Path(shutil.copytree(prepared().root, tmp_path / "data"))


def rewrite(side: Path, ending: str, change: Callable[[bytes], bytes]) -> None:
    path = side.with_name(side.name + ending)
    path.write_bytes(change(path.read_bytes()))


def beyond(side: Path) -> None:
    """The first word of a side is the symbol behind its dictionary: a tag in a training."""
    words = (side.parent / "dict.txt").read_text(encoding="utf-8").count("\n")
    rewrite(side, ".bin", lambda content: np.uint16(4 + words).tobytes() + content[2:])


def flipped(side: Path) -> None:
    rewrite(side, ".idx", lambda content: content[:26] + bytes([content[26] ^ 1]) + content[27:])


def reworded(side: Path) -> None:
    """One word is another, which digests alone can tell."""
    rewrite(side, ".bin", lambda content: bytes([content[0] ^ 1]) + content[1:])


DAMAGE = (beyond, flipped, reworded)


@pytest.mark.parametrize(
    ("split", "task"),
    one_in(
        3,
        itertools.product(
            ["train", "valid", "test"], ["tdo_translation", "translation_multi_simple_epoch"]
        ),
        1,
    ),
)
def test_stock_commands(split: str, task: str, refused, tmp_path: Path) -> None:
    """What opens such a set: a training, its validation, or fairseq-generate."""
    flags, out = ("--task", task, "--max-tokens", "600"), tmp_path / "out"
    for damage in DAMAGE:
        data = Path(shutil.copytree(prepared().root, tmp_path / damage.__name__))
        side = data / f"{split}.en-de.en"
        damage(side)
        with refused.raised(damage.__name__, names=f"`data` must have intact files; {side}."):
            if split == "test":
                generate(*GENERATION, "--path", str(trained()), *flags, data=data)
            else:
                train(out, *TRAINING, *flags, data=data)
        assert not (out / "crash.pt").exists()


def test_a_process(data: Path, refused, tmp_path: Path) -> None:
    side = data / "train.en-de.en"
    beyond(side)
    saved = ("--save-dir", str(tmp_path / "out"), "--task", "tdo_translation")
    refused("fairseq-train", data, *TRAINING, *saved, names=f"{side}.bin", process=True)


@pytest.mark.parametrize("damage", DAMAGE)
def test_tdo_commands(damage: Callable[[Path], None], data: Path, refused, capsys) -> None:
    side, out = data / "test.en-de.en", data.parent / "out"
    damage(side)
    refused("inspect", data, names=f"{side}.")
    words = ("translate", data, "--path", trained(), "--cpu", "--workers", "1", "--beam", "1")
    _, errors = told(capsys, *words, "--pairs", "en-de", "--out", out, code=1)
    assert f"{side}." in errors and "Traceback" not in errors
    assert not (out / "en-de.hyp").exists()


def test_digests_are_written_and_inspected(data: Path, refused, capsys) -> None:
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
        refused("inspect", data, names=data / name, case=name)
        (data / name).write_bytes(content)
    (data / "test.en-fr.fr.bin").unlink()
    refused("inspect", data, names="test.en-fr.fr.bin")


def test_an_older_folder_goes_on_working(data: Path, refused, capsys) -> None:
    mark = json.loads((data / "prepared.json").read_text(encoding="utf-8"))
    del mark[DIGESTS]
    (data / "prepared.json").write_text(json.dumps(mark))
    printed, _ = told(capsys, "inspect", data)
    assert "prepared.json has no file digests" in printed
    flipped(data / "train.en-de.de")
    refused("inspect", data, names="train.en-de.de.idx of set train.en-de")


def test_a_damaged_mark(data: Path, refused) -> None:
    for content in ("", "[]", "{"):
        (data / "prepared.json").write_text(content)
        refused("inspect", data, names="prepared.json", case=content)
