"""`tdo preprocess` stopped in the middle, and training on what it makes."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import environment
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, train
from support.folders import contents
from support.processes import wait_for_files

from tdo_plugin.cli import main
from tdo_plugin.data.databin import MARK, read_data_folder

# parts of few lines, so that there are many
SMALL_PARTS = """
import sys
from tdo_plugin.cli import main
from tdo_plugin.data import set_parts
set_parts.PART = 20
sys.exit(main(sys.argv[1:]))
"""
FLAGS = ("--vocab-size", "120", "--normalization", "identity")


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "text"
    sizes = ("--train", "300", "--valid", "6", "--test", "6", "--seed", "1")
    assert main(["corpus", "--out", str(folder), "--langs", "en,de,fr", *sizes]) == 0
    return folder


def test_pairs_are_chosen_on_the_command_line(text, tmp_path, refused):
    assert main(["preprocess", str(text), str(tmp_path), *FLAGS, "--pairs", "fr-en"]) == 0
    assert read_data_folder(tmp_path).directions == ("en-fr", "fr-en")
    refused.rows("preprocess {t} {out} --pairs en-de,de-fr :: --pairs", t=text, out=tmp_path)


def started(text: Path, out: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", SMALL_PARTS, "preprocess", text, out, *FLAGS, "--workers", 2]
    return subprocess.Popen(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def whole(text) -> Path:
    """Made by one process, each set in one part."""
    out = text.parent / "whole"
    assert main(["preprocess", str(text), str(out), *FLAGS]) == 0
    return out


@pytest.mark.full
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_stopped_goes_on(text, whole, tmp_path, stop):
    out = tmp_path / "data"
    process = started(text, out)
    wait_for_files(process, out, "work/steps/train.*", 3)
    if stop == signal.SIGINT:  # as a terminal does it, to all processes
        os.killpg(process.pid, stop)
    else:
        process.send_signal(stop)
    _, errors = process.communicate(timeout=20)
    assert not (out / MARK).exists() and not list(out.glob("*.bin"))
    if stop == signal.SIGINT:
        assert process.returncode == 130
        assert errors.endswith("tdo preprocess: error: interrupted\n") and "Traceback" not in errors
        assert not list(out.rglob("*.partial")) and not list(out.glob("work/*scratch*"))
    process = started(text, out)
    shown, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert "SentencePiece" not in shown
    assert contents(out) == contents(whole)


def test_a_mistake_in_a_process_is_one_line(text, tmp_path, capfd):
    shutil.copytree(text, bad := tmp_path / "text")
    path = bad / "train.en-fr.fr"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\xff\n", 1))
    assert main(["preprocess", str(bad), str(tmp_path / "data"), *FLAGS, "--workers", "2"]) == 2
    errors = capfd.readouterr().err
    message = f"error: `{path}` must be UTF-8 text; it is not (invalid start byte)\n"
    assert errors.endswith(f"tdo preprocess: {message}") and "Traceback" not in errors


@pytest.mark.full
def test_training_goes_through_the_shards(text, tmp_path, caplog):
    words = ("prepare", "--from", str(text), "--vocab-size", "120", "--shard-sentences", "150")
    assert main([*words, "--out", str(tmp_path / "shards")]) == 0
    out = read_data_folder((tmp_path / "shards").resolve())
    folders = [str(out.root), str(out.root / "shard2")]
    assert out.path == ":".join(folders)
    task = ("--langs", ",".join(out.languages), "--lang-pairs", ",".join(out.directions))
    caplog.set_level("INFO")
    train(
        tmp_path / "model",
        *("--task", "tdo_translation", *task, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY),
        # an update takes all of an epoch
        *("--max-update", "2", "--max-tokens", "1000", "--update-freq", "1000"),
        *("--disable-validation", "--no-save"),
        data=out.path,
    )
    read = re.findall(r"(\S+) train (\S+) 150 examples", caplog.text)
    assert read == [(folder, direction) for folder in folders for direction in out.directions]
