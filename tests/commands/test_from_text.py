"""`tdo train --from-text`: from a folder of text to a model, without a command before."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from support.auxiliary_data import back_translated
from support.commands import told
from support.data import CROSS_ENTROPY, TAG, TDO
from support.layouts.sentences import sentence
from support.prepared import prepared, trained

from tdo_compat.digests import check_folder
from tdo_plugin.checkpoints import describe, read
from tdo_plugin.data import background_preparation
from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.data.shard_plan import is_ready
from tdo_plugin.errors import UserError
from tdo_plugin.launch.training_record import RECORD

FLAGS = (
    *(*TDO, *TAG, *CROSS_ENTROPY, "--optimizer", "adam", "--lr", "0.01", "--max-tokens", "4000"),
    *("--update-freq", "1", "--num-workers", "0", "--disable-validation"),
    *("--lang-pairs", "de-en"),
)


def write(folder: Path, copies: int) -> Path:
    folder.mkdir()
    for language in ("de", "en"):
        for split, numbers in (("train", range(600)), ("valid", range(700, 706))):
            text = "".join(f"{sentence(language, number)}\n" for number in numbers)
            (folder / f"{split}.de-en.{language}").write_text(
                text * (copies if split == "train" else 1), encoding="utf-8"
            )
    return folder


@pytest.mark.long
def test_a_training_begins_at_once_and_is_resumed(
    config: Path, run: Callable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, out = write(tmp_path / "text", 90), tmp_path / "out"  # 54,000 lines, two shards
    words = ["train", config, text, "--from-text", "--model-of", prepared().root]
    words += ["--save-dir", out]
    done = run("tdo", *words, "--cpu", *FLAGS, "--max-update", "3")
    assert done.returncode == 0, done.stderr
    data = out / "data"
    assert read_data_folder(data).shards == ("shard2",)
    assert f"{data}:{data / 'shard2'}" in done.stdout

    path = out / RECORD  # as if it had been interrupted
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["data"] == str(data)
    record["extra"][-2:] = ["--max-epoch", "2"]
    path.write_text(json.dumps(record), encoding="utf-8")
    done = run("tdo", "resume", out)
    assert done.returncode == 0, done.stderr
    assert is_ready(data / "shard2")
    assert describe(out / "checkpoint_last.pt", read(out / "checkpoint_last.pt")).updates > 3

    plain = tmp_path / "plain"
    plain.write_text(f"{sentence('de', 5)}\n", encoding="utf-8")
    flags = (
        "--path",
        out / "checkpoint_last.pt",
        "-s",
        "de",
        "-t",
        "en",
        "--input",
        plain,
        "--cpu",
    )
    translated, _ = told(capsys, "translate", data, *flags)
    assert translated.strip()


def test_resume_completes_the_data_of_a_finished_training(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(os, "execvpe", mock.Mock(side_effect=OSError(2, "no training")))
    monkeypatch.setattr(background_preparation, "start", mock.Mock())  # ended with the training
    monkeypatch.setattr(background_preparation, "LINES", 300)
    text, out = write(tmp_path / "text", 1), tmp_path / "out"
    words = ["train", config, text, "--from-text", "--model-of", prepared().root]
    told(capsys, *words, "--save-dir", out, "--cpu", *FLAGS, "--max-update", "150", code=2)
    shutil.copy(trained(), out)
    finished = "training is finished: 150 of --max-update 150\n"
    assert told(capsys, "resume", out, "--dry-run")[1] == finished
    shard = out / "data" / "shard2"
    assert not is_ready(shard)
    complete = f"{out / 'data'}: all 2 shards are prepared\n"
    assert told(capsys, "resume", out)[1] == complete + finished
    assert is_ready(shard) and check_folder(str(out / "data"))
    assert told(capsys, "resume", out)[1] == finished


def test_what_cannot_be_trained_from_text_is_one_line(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(os, "execvpe", None)
    text, out = write(tmp_path / "text", 1), tmp_path / "out"

    def refused(*flags: object) -> str:
        words = ("train", config, text, "--save-dir", out, "--cpu", *flags, *FLAGS)
        _, errors = told(capsys, *words, code=2)
        assert errors.count("\n") == 1 and "Traceback" not in errors
        assert not out.exists()
        return errors

    assert "`--vocab-size` must be left out without --from-text" in refused("--vocab-size", "9")
    given = ("--from-text",)
    assert "`--nodes` must be left out with --from-text" in refused(
        *given, "--nodes", "2", "--rendezvous", "a:1"
    )
    assert "`--task` must be tdo_translation with" in refused(
        *given, "--task", "translation_multi_simple_epoch"
    )
    assert "`--data-loading` must be lean" in refused(*given, "--data-loading", "fairseq")
    assert "`--from-text` must be left out with --dry-run until" in refused(*given, "--dry-run")
    both = ("--model-of", tmp_path, "--vocab-size", "9")
    assert "`--vocab-size` must be left out with --model-of" in refused(*given, *both)
    assert "`--model-of` must be a folder of tdo prepare" in refused(*given, *both[:2])
    earlier = tmp_path / "earlier" / "checkpoint_last.pt"
    earlier.parent.mkdir()
    earlier.touch()
    assert f"`--save-dir` must be new for training from text; it has {earlier}" in refused(
        *given, "--save-dir", earlier.parent
    )
    with (text / "train.de-en.de").open("a", encoding="utf-8") as stream:
        stream.write("eins zu viel\n")
    assert "must have as many lines as" in refused(*given)


BEGUN = "the preparation would begin"
# options that a training on a data folder would refuse, and what is said
WRONG = {
    "--updates 3": "unrecognized arguments: --updates 3",
    "--tdo-layers x": "argument --tdo-layers: invalid int value: 'x'",
    "--tdo-target-layer 9": "`--tdo-target-layer` must be from 0 to 2",
    "--tdo-layer 3": "unrecognized arguments: --tdo-layer 3; did you mean --tdo-layers?",
    "--eval-translation": "; it says: `--eval-translation` must have a value; it has none",
    "--source-noise x": "; it says: `--source-noise` must be one of none, bert; it is x",
    "--arch tdo_transformr": "did you mean tdo_transformer?",
    "--num-workers -1": "`--num-workers` must be at least 0; it is -1",
    "--instrucl-layer 2": "unrecognized arguments: --instrucl-layer 2",
    "--criterion label_smoothed_cross_entropy_instrucl --instrucl-layer 7": (
        "`--instrucl-layer` must be from 1 to 3"
    ),
    "--lang-pairs de-fr": "language pair de-fr contains languages that are not in",
    "--update-freq x": "`--update-freq` must be a whole number above 0; it is x",
    "--workers 0": "`--workers` must be at least 1; it is 0",
    "--restore-file gone.pt": "`--restore-file` must be an existing file; gone.pt",
    "--monolingual gone": "`--monolingual` must be a folder that tdo monolingual finished",
}


@pytest.fixture
def unprepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is prepared, which an error says."""

    def begin(*_: object) -> None:
        raise UserError(BEGUN)

    monkeypatch.setattr(background_preparation, "begin", begin)


@pytest.mark.usefixtures("unprepared")
def test_wrong_options_are_refused_before_the_preparation(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, out = write(tmp_path / "text", 1), tmp_path / "out"
    words = ("train", config, text, "--from-text", "--save-dir", out, "--cpu", *FLAGS)
    further = ("--back-translated", back_translated())

    def refused(*flags: object) -> str:
        _, errors = told(capsys, *words, *flags, code=2)
        assert errors.count("\n") == 1
        return errors

    for flags, message in WRONG.items():
        assert message in refused(*flags.split())
    assert "`--back-translated` must be made with the dictionary of `data`" in refused(
        *further, "--model-of", prepared().root
    )
    for right in ((), further):
        assert BEGUN in refused(*right)
    assert not out.exists()
