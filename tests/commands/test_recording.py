"""What a training leaves beside its checkpoints, however it ends, and `tdo curve training`."""

import json
import logging
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.commands import told
from support.data import (
    CROSS_ENTROPY,
    TDO,
    VALIDATED,
    databin_zero_shot,
    kept_logging,
    training_arguments,
)
from support.ending import GLOO, TWO_WORKERS, Training, trouble
from support.prepared import trained

from tdo_compat.recording import one_run
from tdo_plugin.launch.training_record import RECORD
from tdo_plugin.recording import recorder
from tdo_plugin.tasks import tracking_options

END = ("--max-update", "7")
RESUMABLE = ("--max-update", "3", "--eval-translation", "all", "--eval-lid", "references")


def runs(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "runs.json").read_text(encoding="utf-8"))


def lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def log(folder: Path) -> str:
    return (folder / "train.log").read_text(encoding="utf-8")


def raising(error: Exception) -> Callable[..., None]:
    """What is put in place of something that fails."""

    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.fixture
def train(tmp_path) -> Callable[..., Path]:
    """fairseq-train in this process, as its command begins it."""

    def begin(*flags: str) -> Path:
        from fairseq import checkpoint_utils, metrics
        from fairseq.dataclass.utils import convert_namespace_to_omegaconf
        from fairseq.distributed.utils import call_main
        from fairseq_cli.train import main

        metrics.reset()
        vars(checkpoint_utils.save_checkpoint).clear()
        folder = tmp_path / "model"
        words = (*VALIDATED, *TDO, *CROSS_ENTROPY, *flags, "--save-dir", str(folder))
        arguments = training_arguments(*words, data=databin_zero_shot())
        arguments.distributed_world_size = 1  # this machine may have GPUs
        with kept_logging():
            logging.disable(logging.NOTSET)  # which models opened before may have set
            logging.getLogger().setLevel(logging.INFO)
            call_main(convert_namespace_to_omegaconf(arguments), main)
        return folder

    return begin


@pytest.mark.full
def test_a_resumed_training_adds_to_its_files(train):
    train(*RESUMABLE)
    folder = train(*RESUMABLE, "--max-update", "5", "--lr", "0.001")
    first, second = runs(folder)
    assert first["options"]["max_update"] == 3 and first["options"]["criterion"]
    assert second["options"] == {"lr": [0.001], "max_update": 5}
    assert [run["state"] for run in (first, second)] == ["finished"] * 2
    assert [run["updates"] for run in (first, second)] == [3, 5]
    assert {"python", "torch", "fairseq"} <= first["versions"].keys()
    (identity,) = first["data"].values()
    assert identity["digest"] and first["machine"]["workers"] == 1

    updates = [line["update"] for line in lines(folder) if line["tag"] == "train_inner"]
    assert updates == [*range(1, 6)]
    valid = [line for line in lines(folder) if line["tag"] == "valid"]
    assert {"loss", "bleu", "bleu_zero_shot"} <= valid[-1].keys()

    text = log(folder)
    assert len(re.findall("begins: ", text)) == 2 and text.endswith("finished (update 5)\n")
    assert len(re.findall("Loaded checkpoint", text)) == 1  # each line once
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "finished, update 5" in page and "Changed in run 2" in page


def test_without_checkpoints_nothing_is_recorded(train):
    folder = train("--max-update", "1", "--no-save", "--disable-validation")
    assert not list(folder.iterdir())


def test_trouble_in_recording_is_one_warning(train, monkeypatch, caplog):
    fail = raising(OSError(28, "No space left on device"))
    monkeypatch.setattr(recorder, "write_page", fail)
    monkeypatch.setattr(recorder.logged_values, "append", fail)
    folder = train("--max-update", "3", "--validate-interval-updates", "1")
    warnings = [text for text in caplog.messages if "the training continues" in text]
    why = "the training continues: OSError: [Errno 28] No space left on device"
    files = ("index.html", "metrics.jsonl")
    assert warnings == [f"recording {name} failed; {why}" for name in files]
    assert runs(folder)[0]["state"] == "finished"


def test_a_log_on_a_full_disk_is_one_warning(train, monkeypatch, caplog, capfd):
    whole = recorder.LogFile
    monkeypatch.setattr(recorder, "LogFile", lambda _, failed: whole(Path("/dev/full"), failed))
    folder = train("--max-update", "1")
    warnings = [text for text in caplog.messages if text.startswith("recording train.log failed")]
    assert len(warnings) == 1
    assert "Logging error" not in capfd.readouterr().err
    assert runs(folder)[0]["state"] == "finished"


def test_values_that_cannot_be_noted_end_nothing(train, monkeypatch):
    monkeypatch.setattr(recorder.logged_values, "scalars", raising(ValueError("unknown kind")))
    assert runs(train("--max-update", "1"))[0]["state"] == "finished"


def test_a_fault_is_in_the_log_with_its_traceback(train, monkeypatch, tmp_path):
    from fairseq.trainer import Trainer

    fault = ZeroDivisionError("nothing to divide by")
    monkeypatch.setattr(Trainer, "train_step", raising(fault))
    with pytest.raises(ZeroDivisionError):
        train("--max-update", "3")
    (run,) = runs(tmp_path / "model")
    assert (run["state"], run["reason"]) == ("failed", "ZeroDivisionError: nothing to divide by")
    assert "Traceback" in log(tmp_path / "model")
    page = (tmp_path / "model" / "index.html").read_text(encoding="utf-8")
    assert "The last run failed: ZeroDivisionError: nothing to divide by" in page


@pytest.mark.parametrize("by_tdo_train", [False, True])
def test_a_refused_training_leaves_nothing(train, refused, tmp_path, by_tdo_train):
    folder = tmp_path / "model"
    if by_tdo_train:
        folder.mkdir()
        (folder / RECORD).touch()
    with refused.raised("no such set", names="split dev"):
        train("--train-subset", "dev", "--tensorboard-logdir", str(tmp_path / "boards"))
    assert not list(tmp_path.iterdir())


def test_a_refused_training_keeps_what_was_there(train, refused, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "notes").touch()
    with refused.raised("no such set", names="split dev"):
        train("--train-subset", "dev")
    assert runs(folder)[0]["state"] == "failed" and (folder / "notes").exists()


# --- trackers ----------------------------------------------------------------------------------


def test_trackio_gets_what_is_logged(train, monkeypatch):
    calls: list[Any] = []
    run = SimpleNamespace(
        log=lambda values, step: calls.append((step, values)), finish=lambda: calls.append("end")
    )

    def init(**options: Any) -> SimpleNamespace:
        calls.append(options)
        return run

    monkeypatch.setitem(sys.modules, "trackio", SimpleNamespace(init=init, __spec__=1))
    train("--max-update", "2", "--trackio-project", "mine")
    begun, *values, end = calls
    assert (begun["project"], begun["name"], begun["resume"]) == ("mine", "model", "allow")
    assert begun["config"]["max_update"] == 2 and end == "end"
    assert {step for step, _ in values} == {1, 2}
    names = {name for _, logged_values in values for name in logged_values}
    assert {"train_inner/loss", "train/loss", "valid/loss"} <= names


def test_trackers_that_are_not_installed(monkeypatch, refused):
    monkeypatch.setattr(tracking_options, "find_spec", lambda name: None)
    places = ("--trackio-project", "x", "--wandb-project", "y", "--tensorboard-logdir", "z")
    flags = (*VALIDATED, *TDO, *CROSS_ENTROPY, *places)
    with refused.raised("three trackers", names="pip install wandb"):
        training_arguments(*flags)


def test_wandb_keeps_to_one_run():
    begun: list[dict[str, Any]] = []

    def init(**options: Any) -> str:
        begun.append(options)
        wandb.run = "run"
        return "run"

    wandb = SimpleNamespace(run=None, init=init)
    patched = one_run(wandb)
    assert patched(project="x", reinit=False) == patched(project="x", reinit=False) == "run"
    assert begun == [{"project": "x", "reinit": None}]


# --- however it ends ---------------------------------------------------------------------------


def test_a_signal_leaves_whole_files(tmp_path):
    happens = trouble(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)", update=3)
    output, _ = Training(tmp_path, *END, *happens).end(143)
    (run,) = runs(tmp_path)
    assert (run["state"], run["reason"], run["updates"]) == ("interrupted", "by a signal", 4)
    text = log(tmp_path)
    assert text.endswith("interrupted by a signal (update 4)\n")
    said = output[output.index(" | fairseq_cli.train | ") :].splitlines()[1:]
    assert [line for line in said if line not in text.splitlines()] == []
    assert run["command"].startswith("fairseq-train ")


def test_of_several_workers_one_records_and_learns_why_another_failed(tmp_path):
    what = 'raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")'
    happens = trouble(tmp_path, what, update=3, rank=1)
    Training(tmp_path, *GLOO, *END, *happens, torchrun=TWO_WORKERS).end(1)
    (run,) = runs(tmp_path)
    assert run["state"] == "failed" and run["machine"]["workers"] == 2
    assert run["reason"].startswith("the worker of rank 1 of 2 ran out of memory in update 4")
    updates = [line["update"] for line in lines(tmp_path) if line["tag"] == "train_inner"]
    assert updates == [1, 2, 3]
    assert log(tmp_path).count("begins: ") == 1


# --- tdo curve training ------------------------------------------------------------------------


def test_a_folder_without_a_record_gets_a_page(tmp_path, refused, capsys):
    shutil.copy(trained(), tmp_path)
    capsys.readouterr()  # what was said where it was made just now
    printed, _ = told(capsys, "curve", "training", tmp_path)
    assert printed == f"{tmp_path}: state unknown, update 150\n{tmp_path / 'index.html'}\n"
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "tdo_translation" in page and "torch" in page

    (tmp_path / "runs.json").write_text("{")
    refused("curve", "training", tmp_path, names="whole files")
