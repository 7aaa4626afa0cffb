"""`tdo train --from-text`: from a folder of text to a model, without a command before."""

import json
import os
import shutil
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


@pytest.mark.full
def test_a_training_begins_at_once_and_is_resumed(config, run, tmp_path, capsys):
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
    translate = ("translate", data, "--path", out / "checkpoint_last.pt", "--cpu")
    words = ("-s", "de", "-t", "en", "--max-len-b", "8", "--input", plain)
    translated, _ = told(capsys, *translate, *words)
    assert translated.strip()


def test_resume_completes_the_data_of_a_finished_training(config, tmp_path, monkeypatch, capsys):
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


TRAIN = "train {config} {text} --save-dir {out} --cpu {flags}"


def test_what_cannot_be_trained_from_text(config, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "execvpe", None)
    earlier, uneven = tmp_path / "earlier" / "checkpoint_last.pt", write(tmp_path / "uneven", 1)
    earlier.parent.mkdir()
    earlier.touch()
    with (uneven / "train.de-en.de").open("a", encoding="utf-8") as stream:
        stream.write("eins zu viel\n")
    refused.rows(
        f"""
        {TRAIN}
            --vocab-size 9                                      :: --vocab-size
            --from-text --nodes 2 --rendezvous a:1              :: --nodes
            --from-text --task translation_multi_simple_epoch   :: --task
            --from-text --data-loading fairseq                  :: --data-loading
            --from-text --dry-run                               :: --dry-run
            --from-text --model-of {{folder}} --vocab-size 9    :: --vocab-size
            --from-text --save-dir {{folder}}/earlier           :: {{earlier}}
        train {{config}} {{uneven}} --save-dir {{out}} --cpu {{flags}} --from-text :: train.de-en
        """,
        config=config,
        text=write(tmp_path / "text", 1),
        out=tmp_path / "out",
        flags=FLAGS,
        folder=tmp_path,
        earlier=earlier,
        uneven=uneven,
    )


def test_wrong_options_are_refused_before_the_preparation(config, refused, tmp_path, monkeypatch):
    """What a training on a data folder would refuse; the last two are right."""
    begin = mock.Mock(side_effect=UserError("the preparation would begin"))
    monkeypatch.setattr(background_preparation, "begin", begin)
    refused.rows(
        f"""
        {TRAIN} --from-text
            --updates 3                                         :: --updates
            --tdo-layers x                                      :: --tdo-layers
            --tdo-target-layer 9                                :: --tdo-target-layer
            --tdo-layer 3                                       :: did you mean --tdo-layers?
            --eval-translation                                  :: --eval-translation
            --source-noise x                                    :: --source-noise
            --num-workers -1                                    :: --num-workers
            --instrucl-layer 2                                  :: --instrucl-layer
            --criterion label_smoothed_cross_entropy_instrucl --instrucl-layer 7 :: --instrucl-layer
            --lang-pairs de-fr                                  :: de-fr
            --update-freq x                                     :: --update-freq
            --workers 0                                         :: --processes
            --restore-file gone.pt                              :: gone.pt
            --monolingual gone                                  :: --monolingual
            --back-translated {{translated}} --model-of {{data}} :: --back-translated
            --back-translated {{translated}}                    :: the preparation would begin
        {TRAIN} --from-text                                     :: the preparation would begin
        """,
        config=config,
        text=write(tmp_path / "text", 1),
        out=tmp_path / "out",
        flags=FLAGS,
        translated=back_translated(),
        data=prepared().root,
    )
