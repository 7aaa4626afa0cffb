"""The trainings whose processes `tdo bench` weighs, before they run."""

from dataclasses import replace

import pytest
from speed import whole_training
from speed.batches import pool
from speed.jobs import Job
from speed.plan import OURS, SMALL, STOCK
from speed.text import embedded
from speed.whole_training import _command, _write_data

from tdo_plugin.errors import UserError
from tdo_plugin.launch.training import last_value

SETTING = replace(SMALL, batch_tokens=60, sentence_length=9)


def job(system):
    text = embedded(SETTING.languages)
    batches = (pool(text, SETTING.sentence_length, SETTING.batch_tokens),)
    return Job("tree memory", system, SETTING, text.directions, batches, "cpu", "fp32")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The data folder of both trainings."""
    path = tmp_path_factory.mktemp("data")
    _write_data(job(OURS), path)
    return path


def test_every_direction_is_trained_and_validated(folder):
    directions = ["-".join(direction) for direction in embedded(SETTING.languages).directions]
    for system in (OURS, STOCK):
        command = _command(job(system), folder)
        assert sorted(last_value(command, "--lang-pairs").split(",")) == sorted(directions)
        assert "--disable-validation" not in command
    for direction in directions:
        for split in ("train", "valid"):
            assert len(list(folder.glob(f"{split}.{direction}.*.idx"))) == 2


def test_each_is_a_users_command(folder):
    ours, stock = (_command(job(system), folder) for system in (OURS, STOCK))
    assert last_value(ours, "--user-dir") and last_value(ours, "--num-workers") == "0"
    assert not {"--user-dir", "--num-workers"} & {*stock}
    for command in (ours, stock):
        assert "--cpu" in command and last_value(command, "--max-tokens") == "60"


def test_a_training_that_fails_is_one_line(tmp_path, monkeypatch):
    failing = ["sh", "-c", "echo first; echo last; exit 1"]
    monkeypatch.setattr(whole_training, "_command", lambda *_: failing)
    with pytest.raises(UserError, match=r"^`fairseq-train` must succeed; it says: last$"):
        whole_training._peak(job(OURS), tmp_path)
